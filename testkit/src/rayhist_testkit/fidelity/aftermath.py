"""What went on between the live answers and the end, as the replay tells it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from rayhist_testkit.cluster.dashboard import Dashboard

_LATE_MS = 3000
"""Ray's dashboard learns of a task's changes so much later."""


class Aftermath(msgspec.Struct, frozen=True):
    """Everything that was begun, changed or ended after a time."""

    attempts: dict[str, str]
    """`<task id>/<attempt>` → the name of its function."""
    things: set[str]
    """Ids of actors, workers, jobs and nodes."""

    def of(self, function: str) -> int:
        """How many attempts of a function."""
        return Counter(self.attempts.values())[function]


def after(replay: Dashboard, from_ms: int) -> Aftermath:
    """Ask the view of the session that concludes nothing from its end."""
    tasks = replay.json("api/v0/tasks", detail=1, limit=10_000, exclude_driver="false")
    actors = replay.json("logical/actors")["data"]["actors"]
    times: dict[str, list[float | None]] = {
        **{row["worker_id"]: [row["start_time_ms"], row["end_time_ms"]] for row in replay.rows("workers")},
        **{row["node_id"]: [row["start_time_ms"], row["end_time_ms"]] for row in replay.rows("nodes")},
        **{one: [actor["startTime"], actor["timestamp"]] for one, actor in actors.items()},
    }
    for job in replay.json("api/jobs/"):
        for one in filter(None, (job["job_id"], job["submission_id"])):
            times[one] = [job["start_time"], job["end_time"]]
    return Aftermath(
        attempts={
            f"{row['task_id']}/{row['attempt_number']}": row["func_or_class_name"]
            for row in tasks["data"]["result"]["result"]
            if max(_times(row), default=0.0) >= from_ms - _LATE_MS
        },
        things={one for one, several in times.items() if any((at or 0) >= from_ms for at in several)},
    )


def _times(task: dict[str, Any]) -> list[float]:
    """When it entered its states and what its profile tells; epoch milliseconds."""
    profile = (task["profiling_data"] or {}).get("events") or []
    return [
        *(one["created_ms"] for one in task["events"] or []),
        *(one["end_time"] for one in profile),
    ]
