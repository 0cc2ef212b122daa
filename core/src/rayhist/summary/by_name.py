"""The summary of tasks by name: `TaskSummaries.to_summary_by_func_name` of Ray 2.60.

It is counted in SQL, in an index that is made for it, so that a million tasks are no burden.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rayhist.index import Index
from rayhist.query import Filter, Query, condition, select
from rayhist.resources import TASKS
from rayhist.summary.shape import of_cluster, totals

_GROUPS = (
    "GROUP BY job_id, type, state, name COLLATE BINARY, func_or_class_name COLLATE BINARY ORDER BY first"
)


def tasks_by_func_name(index: Index, filters: Sequence[Filter] = ()) -> object:
    """By the name that a call was given, or else its function's: Ray's `func_name` and `task_name` alike."""
    wanted = condition(TASKS, Query(filters=tuple(filters)))
    what = "name, func_or_class_name, type, state, count(*), min(seq) AS first"
    groups: dict[str, dict[str, Any]] = {}
    counts: Counter[str] = Counter()
    for name, function, kind, state, count, _ in select(index, TASKS, what, wanted, _GROUPS):
        key = name or function
        group = groups.setdefault(
            key, {"func_or_class_name": key, "type": kind, "state_counts": Counter[str]()}
        )
        group["state_counts"][state] += count
        counts[kind] += count
    return of_cluster({"summary": groups, **totals(counts), "summary_by": "func_name"})
