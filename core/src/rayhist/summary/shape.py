"""What the summaries of tasks have in common."""

from __future__ import annotations

from collections.abc import Mapping

_TOTALS = {
    "NORMAL_TASK": "total_tasks",
    "ACTOR_TASK": "total_actor_tasks",
    "ACTOR_CREATION_TASK": "total_actor_scheduled",
}


def of_cluster(summary: object) -> object:
    """What stands around a summary that is not made node by node."""
    return {"node_id_to_summary": {"cluster": summary}}


def totals(counts: Mapping[str, int]) -> dict[str, int]:
    """How many tasks, actor tasks and created actors there are, from how many there are of each type."""
    return {total: counts.get(kind, 0) for kind, total in _TOTALS.items()}
