"""The summary of actors by class: `ActorSummaries` of `ray.util.state.common` of Ray 2.60."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rayhist.index import Index
from rayhist.query import Filter, Query, condition, select
from rayhist.resources import ACTORS
from rayhist.summary.shape import of_cluster


def actors(index: Index, filters: Sequence[Filter] = ()) -> object:
    """By class."""
    wanted = condition(ACTORS, Query(filters=tuple(filters)))
    then = "GROUP BY class_name COLLATE BINARY, state ORDER BY min(actor_id)"
    classes: dict[str, dict[str, Any]] = {}
    total = 0
    for name, state, count in select(index, ACTORS, "class_name, state, count(*)", wanted, then):
        of_class = classes.setdefault(name, {"class_name": name, "state_counts": {}})
        of_class["state_counts"][state] = count
        total += count
    return of_cluster({"summary": classes, "total_actors": total, "summary_by": "class"})
