"""How an attempt ended that nobody reported an end of: concluded, as Ray's GCS does, and beyond it.

The GCS fails what a dead worker ran, and at a job's end what the job still had going:
`GcsTaskManager::OnWorkerDead` and `OnJobFinished`.  The end of the cluster itself nobody announces; what
still went on then would go on for ever in the dashboard.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from rayhist.replay.context import Context
from rayhist.replay.tasks.record import Record
from rayhist.replay.tasks.states import STATES

_ERROR_TYPE = "WORKER_DIED"
"""What the GCS calls it in both cases."""

_NS_PER_MS = 1_000_000
_HALF_A_MS = 500_000
"""Rows show nanoseconds divided as floats, as Ray does, which may take a whole millisecond down by one."""


class Ending(NamedTuple):
    """When the attempt failed (nanoseconds since the epoch), the error's type and its message."""

    at_ns: int
    error_type: str
    message: str


def concluder(context: Context) -> Callable[[Record], Ending | None]:
    """What to ask for the ending of each attempt; the answer is `None` while it goes on.

    Only what the GCS would conclude, as long as the session goes on.
    """
    dead_workers = {  # a worker whose end was only concluded has no exit type
        identifier: row
        for identifier, row in context.workers.items()
        if row.get("is_alive") is False and row.get("exit_type")
    }

    def conclude(record: Record) -> Ending | None:
        if record.ended:
            return None
        concluded = _with_worker(record, dead_workers.get(record.worker))
        concluded = concluded or _with_job(record, context.job_end_ms)
        if concluded is None and context.end.ended:
            concluded = _with_cluster(record, context.end.at_ms)
        return concluded

    return conclude


def _with_worker(record: Record, worker: dict[str, Any] | None) -> Ending | None:
    if worker is None or not worker.get("end_time_ms"):
        return None
    message = (
        f"Worker running the task ({record.worker}) died with exit_type: {worker.get('exit_type')}"
        f" with error_message: {worker.get('exit_detail')}"
    )
    return Ending(int(worker["end_time_ms"]) * _NS_PER_MS, _ERROR_TYPE, message)


def _with_job(record: Record, job_end_ms: dict[str, int]) -> Ending | None:
    job_id = record.definition.job_id if record.definition else ""
    at_ms = job_end_ms.get(job_id)
    if not at_ms:
        return None
    message = f"Job finishes ({job_id}) as driver exits. Marking all non-terminal tasks as failed."
    return Ending(at_ms * _NS_PER_MS, _ERROR_TYPE, message)


def _with_cluster(record: Record, at_ms: int) -> Ending:
    at_ns = max([at_ms * _NS_PER_MS + _HALF_A_MS, *record.states.values()])
    state = STATES[record.state]
    message = f"The cluster ended at {_utc(at_ns)} while this task was {state}. How it ended is not known."
    return Ending(at_ns, _ERROR_TYPE, message)


def _utc(at_ns: int) -> str:
    try:
        return datetime.fromtimestamp(at_ns // 1_000_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return "a time that no calendar has"
