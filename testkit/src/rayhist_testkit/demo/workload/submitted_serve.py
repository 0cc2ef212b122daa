"""The driver of the Ray Serve job: a healthy application of two deployments, and a broken one."""

from __future__ import annotations

import contextlib
import urllib.request
from typing import Any

import ray
from ray import serve

from rayhist_testkit.ports import free_ports

_LIGHT = {"num_cpus": 0.1}


class Adder:
    def __call__(self, number: int) -> int:
        return number + 1


class Front:
    def __init__(self, adder: Any) -> None:
        self.adder = adder

    async def __call__(self, _request: object) -> str:
        return str(await self.adder.remote(1))


class Broken:
    def __init__(self) -> None:
        raise ValueError("this replica is broken on purpose")


def deployed(target: type, *arguments: object) -> Any:
    """The class as a deployment of one light replica that is not tried again when its start fails."""
    deployment: Any = serve.deployment(target, ray_actor_options=_LIGHT, max_constructor_retry_count=1)
    return deployment.bind(*arguments)


def main() -> None:
    ray.init(log_to_driver=False)
    [port] = free_ports(1)
    serve.start(http_options={"host": "127.0.0.1", "port": port})
    serve.run(deployed(Front, deployed(Adder)), name="healthy", route_prefix="/healthy")
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthy", timeout=90) as answer:
        print("answer:", answer.read().decode())  # noqa: T201 - a job's log
    with contextlib.suppress(RuntimeError):  # that its deployment failed
        serve.run(deployed(Broken), name="broken", route_prefix="/broken")


if __name__ == "__main__":
    main()
