"""Ray Data's executions, out of its export file where the dashboard's answer was not recorded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rayhist.index import IndexWriter
from rayhist.replay.context import Context
from rayhist.replay.exports import Dataset, DatasetLine, Operator
from rayhist.replay.snapshots_ended import DATASETS, end_dataset

_NO_METRICS: dict[str, Any] = {
    "progress": 0,
    "total": 0,
    "total_rows": 0,
    "ray_data_output_rows": {"max": 0},
    "ray_data_spilled_bytes": {"max": 0},
    "ray_data_current_bytes": {"value": 0, "max": 0},
    "ray_data_cpu_usage_cores": {"value": 0, "max": 0},
    "ray_data_gpu_usage_cores": {"value": 0, "max": 0},
    "ray_data_memory_usage_bytes": {"value": 0, "max": 0},
}
"""The page reads these of every dataset and operator; the export file does not have them."""


def write(context: Context, writer: IndexWriter) -> None:
    """Write an answer for each job whose datasets are known from the export file alone."""
    jobs: dict[str, list[DatasetLine]] = {}
    for line in context.exports.datasets:
        jobs.setdefault(line.dataset.job_id, []).append(line)
    for job, lines in sorted(jobs.items()):
        endpoint = f"{DATASETS}{job}"
        if context.answers.good(endpoint) is not None:
            continue
        datasets = [_answered(line.dataset) for line in _last(lines)]
        if context.end.ended:
            for dataset in datasets:
                end_dataset(dataset, context.end)
        at_ms = max(line.at_s for line in lines) * 1000
        body = {"datasets": datasets}
        writer.document("answer", endpoint, {"fetched_at": at_ms, "status": 200, "body": body})
        context.problems.append(f"The progress of job {job}'s datasets was not recorded, only their states.")


def _last(lines: Iterable[DatasetLine]) -> list[DatasetLine]:
    """The last line of each dataset, the latest dataset first."""
    last: dict[str, DatasetLine] = {}
    for line in sorted(lines, key=_stage):
        last[line.dataset.dataset_id] = line
    return sorted(last.values(), key=lambda line: (-line.dataset.start_time, line.dataset.dataset_id))


def _stage(line: DatasetLine) -> tuple[float, int, float]:
    """Within a second, the order in the file decides."""
    return line.dataset.execution_end_time, line.at_s, line.dataset.execution_start_time


def _answered(dataset: Dataset) -> dict[str, Any]:
    return {
        "dataset": dataset.dataset_id,
        "job_id": dataset.job_id,
        "state": dataset.state,
        "start_time": dataset.start_time,
        "end_time": dataset.execution_end_time or None,
        "operators": [_operator(one) for one in dataset.topology.operators],
        **_NO_METRICS,
    }


def _operator(operator: Operator) -> dict[str, Any]:
    named = {"operator": operator.id, "name": operator.name, "state": operator.state, "queued_blocks": 0}
    return named | _NO_METRICS
