"""The driver of the submitted jobs: `succeed`, `fail` or `hang`."""

from __future__ import annotations

import os
import sys
import time

import ray

from rayhist_testkit.demo.workload import HANGS
from rayhist_testkit.demo.workload.run import touch

_FOREVER_S = 3600


@ray.remote(num_cpus=0.1)
def step(number: int) -> int:
    print("step", number, flush=True)  # noqa: T201 - a job's log
    return number


def main(mode: str) -> None:
    ray.init(log_to_driver=False)
    ray.get([step.remote(number) for number in range(3)])
    print("submitted: grüß dich", flush=True)  # noqa: T201 - a job's log
    if mode == "hang":
        touch(os.environ[HANGS])
        time.sleep(_FOREVER_S)
    if mode == "fail":
        raise ValueError("the job failed on purpose")


if __name__ == "__main__":
    main(sys.argv[1])
