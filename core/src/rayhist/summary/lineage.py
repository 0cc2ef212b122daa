"""The lineage summary of tasks: who started what, as a tree in which siblings of one name are one group.

Rules: `TaskSummaries.to_summary_by_lineage` of `ray.util.state.common` of Ray 2.60.  A task whose parent is
not known is in the totals but not in the tree, and so is all that it started.  A retried task was created
when its first attempt was; Ray takes any of them.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from rayhist.index import Index
from rayhist.query import Condition, Filter, Query, condition, select
from rayhist.resources import ACTORS, TASKS
from rayhist.summary.shape import of_cluster, totals

MAX_DEPTH = 100
"""Deeper levels are counted but not listed: no reader could follow, and no JSON parser either."""

_DRIVER = "f" * 40
"""What the id of a driver's own task begins with."""

_ACTOR_TYPES = frozenset({"ACTOR_TASK", "ACTOR_CREATION_TASK"})
_RUNNING = ("RUNNING", "RUNNING_IN_RAY_GET", "RUNNING_IN_RAY_WAIT")
_PENDING = (
    "PENDING_ARGS_AVAIL",
    "PENDING_NODE_ASSIGNMENT",
    "PENDING_OBJ_STORE_MEM_AVAIL",
    "PENDING_ARGS_FETCH",
)


class Link(msgspec.Struct):
    """Where the dashboard leads to."""

    type: str
    id: str


class Group(msgspec.Struct):
    """A task, an actor, or several siblings of one name; `timestamp` is the first creation, epoch ms."""

    name: str
    key: str
    type: str
    timestamp: int | None = None
    state_counts: dict[str, int] = msgspec.field(default_factory=dict)
    children: list[Group] = msgspec.field(default_factory=list)
    link: Link | None = None

    def count(self, states: dict[str, int]) -> None:
        for state, number in states.items():
            self.state_counts[state] = self.state_counts.get(state, 0) + number

    def started(self, timestamp: int | None) -> None:
        if timestamp:
            self.timestamp = min(self.timestamp or timestamp, timestamp)

    @property
    def rank(self) -> tuple[int, int, int, int, bool]:
        """What runs comes first, then what waits, then what failed, then the oldest."""
        counts = self.state_counts
        return (
            -sum(counts.get(state, 0) for state in _RUNNING),
            -sum(counts.get(state, 0) for state in _PENDING),
            -counts.get("FAILED", 0),
            self.timestamp or sys.maxsize,
            self.type != "ACTOR_CREATION_TASK",
        )


class _Task(msgspec.Struct, frozen=True):
    """An attempt, or all that is known of a task."""

    task_id: str
    name: str
    type: str
    state: str
    actor_id: str | None
    parent_task_id: str
    created_ms: float | None


def tasks_by_lineage(index: Index, filters: Sequence[Filter] = ()) -> object:
    """What stands under `data.result.result`.  Raises `BadQuery`."""
    attempts = _attempts(index, filters)
    tree = _Tree(attempts, _actor_names(index))
    for attempt in attempts:
        group = tree.group(attempt.task_id)
        group.count({attempt.state: 1})
        group.started(_ms(attempt))
    counts = Counter(attempt.type for attempt in attempts)
    return of_cluster({"summary": _summed(tree.roots), **totals(counts), "summary_by": "lineage"})


def _attempts(index: Index, filters: Sequence[Filter]) -> list[_Task]:
    wanted = condition(TASKS, Query(filters=tuple(filters)))
    what = (
        "task_id, coalesce(nullif(name, ''), func_or_class_name), type, state, actor_id, parent_task_id,"
        " creation_time_ms"
    )
    return [_Task(*row) for row in select(index, TASKS, what, wanted, "ORDER BY seq")]


def _actor_names(index: Index) -> dict[str, str]:
    """Actor id → what it says it is, or else its class."""
    what = "actor_id, coalesce(nullif(repr_name, ''), class_name)"
    return dict(select(index, ACTORS, what, Condition()))


class _Tree:
    """Groups by id, made with all their ancestors when they are first asked for."""

    def __init__(self, attempts: Iterable[_Task], actor_names: dict[str, str]) -> None:
        self.roots: list[Group] = []
        self._actor_names = actor_names
        self._tasks: dict[str, _Task] = {}
        self._creators: dict[str, str] = {}
        for attempt in attempts:
            self._tasks.setdefault(attempt.task_id, attempt)
            if attempt.type == "ACTOR_CREATION_TASK" and attempt.actor_id:
                self._creators[attempt.actor_id] = attempt.task_id
        self._groups: dict[str, Group] = {}

    def group(self, task_id: str) -> Group:
        """The group of a task that is known."""
        made: list[tuple[Group, str | None]] = []
        key: str | None = task_id
        while key is not None and key not in self._groups:
            found = self._made(key)
            if found is None:
                break
            made.append(found)
            self._groups[key] = found[0]
            key = found[1]
        for group, parent in made:
            if parent is None:
                self.roots.append(group)
            elif parent in self._groups:
                self._groups[parent].children.append(group)
        return self._groups[task_id]

    def _made(self, key: str) -> tuple[Group, str | None] | None:
        """A new group, and its parent's key: `None` at the top.  `None` if nothing is known of it."""
        kind, _, actor_id = key.rpartition(":")
        return self._made_actor(actor_id) if kind else self._made_task(key)

    def _made_task(self, task_id: str) -> tuple[Group, str | None] | None:
        task = self._tasks.get(task_id)
        if task is None:
            return None
        group = Group(task.name, task_id, task.type, link=Link("task", task_id))
        return group, f"actor:{task.actor_id}" if task.type in _ACTOR_TYPES else _parent(task)

    def _made_actor(self, actor_id: str) -> tuple[Group, str | None] | None:
        creator = self._tasks.get(self._creators.get(actor_id, ""))
        if creator is None:
            return None
        name = self._actor_names.get(actor_id) or creator.name.partition(".")[0]
        return Group(name, f"actor:{actor_id}", "ACTOR", link=Link("actor", actor_id)), _parent(creator)


def _ms(task: _Task) -> int | None:
    return None if task.created_ms is None else int(task.created_ms)


def _parent(task: _Task) -> str | None:
    parent = task.parent_task_id
    return None if not parent or parent.startswith(_DRIVER) else parent


def _summed(roots: list[Group]) -> list[Group]:
    """Group siblings, and add up what is below each group, from the leaves to the top; then sort."""
    levels = [roots]
    while below := [child for group in levels[-1] for child in group.children]:
        levels.append(below)
    for depth in range(len(levels) - 1, -1, -1):
        for group in levels[depth]:
            group.children = _merged(group.children)
            for child in group.children:
                group.count(child.state_counts)
                group.started(child.timestamp)
            if depth >= MAX_DEPTH:
                group.children = []
    return _merged(roots)


def _merged(siblings: list[Group]) -> list[Group]:
    """Siblings of one name as one group, sorted."""
    by_name: dict[str, list[Group]] = {}
    for sibling in siblings:
        by_name.setdefault(sibling.name, []).append(sibling)
    return sorted((_one(name, same) for name, same in by_name.items()), key=lambda group: group.rank)


def _one(name: str, same: list[Group]) -> Group:
    if len(same) == 1:
        return same[0]
    group = Group(name, name, "GROUP")
    for child in same:
        group.count(child.state_counts)
        group.started(child.timestamp)
    group.children = sorted(same, key=lambda child: child.rank)
    return group
