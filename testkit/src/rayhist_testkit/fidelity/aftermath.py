"""What the replay tells of the time between the live answers and the end, and of what went on then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from rayhist_testkit.cluster.dashboard import Dashboard

_LATE_MS = 3_000
"""Ray's dashboard learns of a task's changes so much later."""
_MARKED_MS = 15_000
"""So long after a job's end Ray calls its tasks failed that it has not heard the end of."""
_JOB_DIGITS = 8
"""A driver's worker id begins with its job's id."""
_OVER = {"FINISHED", "FAILED", "DEAD", "SUCCEEDED", "STOPPED"}

Row = dict[str, Any]


class Aftermath(msgspec.Struct, frozen=True):
    """Ids: of attempts `<task id>/<attempt>`, and of actors, workers, nodes and jobs."""

    later: frozenset[str] = frozenset()
    """What began, changed or ended after the live answers were begun, so that these could not show it."""
    going: frozenset[str] = frozenset()
    """What still went on at the end."""

    def about(self, text: str) -> bool:
        """Whether a text names anything of `later`."""
        return any(one.partition("/")[0] in text for one in self.later)


def after(replay: Dashboard, from_ms: int, known: bytes) -> Aftermath:
    """Ask the view of the session that concludes nothing from its end.

    `known` is what the live dashboard answered; an id that is not in it is of something later.
    """
    tasks = replay.json("api/v0/tasks", detail=1, limit=10_000, exclude_driver="false")["data"]["result"][
        "result"
    ]
    jobs = replay.json("api/jobs/")
    drivers = [row for row in replay.rows("workers") if row["worker_type"] == "DRIVER"]
    job_ends = {row["worker_id"][:_JOB_DIGITS]: row["end_time_ms"] for row in drivers if row["end_time_ms"]}
    lives = [*_things(replay), *_jobs(jobs)]
    later = [row for row in tasks if _changed(row, from_ms) or _marked(row, job_ends)]
    return Aftermath(
        later=frozenset(
            [
                *(one for one, times, _ in lives if any((at or 0) >= from_ms for at in times)),
                *(one for one, _, _ in lives if one.encode() not in known),
                *map(attempt, later),
            ]
        ),
        going=frozenset(
            [
                *(one for one, _, over in lives if not over),
                *(attempt(row) for row in tasks if row["state"] not in _OVER),
            ]
        ),
    )


Life = tuple[str, list[float | None], bool]
"""An id, times of its life (epoch milliseconds), and whether that is over."""


def _things(replay: Dashboard) -> Iterator[Life]:
    for row in replay.rows("workers"):
        yield row["worker_id"], [row["start_time_ms"], row["end_time_ms"]], not row["is_alive"]
    for row in replay.rows("nodes"):
        yield row["node_id"], [row["start_time_ms"], row["end_time_ms"]], row["state"] in _OVER
    for one, actor in replay.json("logical/actors")["data"]["actors"].items():
        yield one, [actor["startTime"], actor["timestamp"]], actor["state"] in _OVER


def _jobs(jobs: Iterable[Row]) -> Iterator[Life]:
    for job in jobs:
        for one in filter(None, (job["job_id"], job["submission_id"])):
            yield one, [job["start_time"], job["end_time"]], job["status"] in _OVER


def attempt(row: Row) -> str:
    """How an attempt is called here."""
    return f"{row['task_id']}/{row['attempt_number']}"


def _changed(row: Row, from_ms: int) -> bool:
    """Whether it entered a state, or its profile tells of something, after that time."""
    profile = (row["profiling_data"] or {}).get("events") or []
    times = [*(one["created_ms"] for one in row["events"]), *(one["end_time"] for one in profile)]
    return max(times, default=0.0) >= from_ms - _LATE_MS


def _marked(row: Row, job_ends: dict[str, int]) -> bool:
    """Whether Ray may have called it failed with its job, although it then finished."""
    job_end, end = job_ends.get(row["job_id"], 0), row["end_time_ms"] or 0
    marked_ms = job_end + _MARKED_MS
    return bool(job_end) and (row["creation_time_ms"] or 0) < marked_ms <= end + _LATE_MS
