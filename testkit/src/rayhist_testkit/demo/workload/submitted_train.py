"""The driver of the Ray Train job: one worker that reports twice."""

from __future__ import annotations

import tempfile

import ray
import ray.train
from ray.train import RunConfig, ScalingConfig
from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

from rayhist_testkit.demo.workload import TRAIN_RUN


def loop() -> None:
    for step in range(2):
        ray.train.report({"loss": 1 / (step + 1)})


def main() -> None:
    ray.init(log_to_driver=False)
    with tempfile.TemporaryDirectory(prefix="rayhist-train-") as folder:
        DataParallelTrainer(
            loop,
            scaling_config=ScalingConfig(num_workers=1, resources_per_worker={"CPU": 0.1}),
            run_config=RunConfig(name=TRAIN_RUN, storage_path=folder),
        ).fit()


if __name__ == "__main__":
    main()
