"""The driver of the Ray Data job."""

from __future__ import annotations

from typing import Any

import ray
import ray.data

from rayhist_testkit.demo.workload import DATASET


def double(row: dict[str, Any]) -> dict[str, Any]:
    return {"id": row["id"] * 2}


def main() -> None:
    ray.init(log_to_driver=False)
    dataset = ray.data.range(200, override_num_blocks=4).map(double)
    dataset.set_name(DATASET)
    dataset.materialize()


if __name__ == "__main__":
    main()
