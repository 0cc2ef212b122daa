"""The driver of the submitted jobs: `succeed`, `fail`, or `hang FILE`, which it makes when it hangs."""

from __future__ import annotations

import sys
import time

import ray

from rayhist_testkit.demo.workload.run import touch

_FAILED = 3


@ray.remote(num_cpus=0.1)
def step(number: int) -> int:
    print("step", number, flush=True)  # noqa: T201 - a job's log
    return number


def main(mode: str, *files: str) -> int:
    ray.init(log_to_driver=False)
    ray.get([step.remote(number) for number in range(3)])
    print("submitted: grüß dich", flush=True)  # noqa: T201 - a job's log
    for file in files:
        touch(file)
    while mode == "hang":
        time.sleep(1)
    return _FAILED if mode == "fail" else 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
