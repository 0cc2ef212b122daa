"""Which elements of two arrays belong together, so that one element more does not shift all others."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import msgspec

Pair = tuple[int | None, int | None]
"""Positions in the one and in the other array; `None` for what only the other has."""

_KEYS = (
    ("ph", "ts", "pid", "tid", "name"),
    ("task_id", "attempt_number"),
    ("object_id", "reference_type", "pid"),
    ("worker_id",),
    ("actor_id",),
    ("placement_group_id",),
    ("submission_id",),
    ("job_id",),
    ("workerId",),
    ("eventId",),
    ("node_id",),
    ("nodeId",),
    ("pid",),
    ("state",),
    ("name",),
)
"""The columns that identify what has the first of them."""


def identity(element: Any, position: int) -> str:
    """What the element is called in a path."""
    return str(_key(element) or position)


def paired(one: Sequence[Any], other: Sequence[Any]) -> Iterator[Pair]:
    """Pairs by the position in `one`; what only `other` has comes last.

    Numbers belong together by position, what is equal or identified alike by that, and of the rest the first
    to the first and so on.
    """
    if all(isinstance(value, int | float) for value in (*one, *other)):
        matched = dict(enumerate(range(len(other)))) if len(one) == len(other) else {}
    else:
        matched = _matched(one, other)
    taken = {position for position in matched.values() if position is not None}
    for position in range(len(one)):
        yield position, matched.get(position)
    for position in range(len(other)):
        if position not in taken:
            yield None, position


def _matched(one: Sequence[Any], other: Sequence[Any]) -> dict[int, int]:
    matched: dict[int, int] = {}
    for names in (_encoded, _key):
        _match(one, other, names, matched)
    left = [
        position for position in range(len(one)) if position not in matched and _key(one[position]) is None
    ]
    taken = set(matched.values())
    free = [
        position for position in range(len(other)) if position not in taken and _key(other[position]) is None
    ]
    if not all(isinstance(value, str) for value in (*one, *other)):
        matched.update(zip(left, free, strict=False))
    return matched


def _match(one: Sequence[Any], other: Sequence[Any], name: Any, matched: dict[int, int]) -> None:
    taken = set(matched.values())
    places: dict[Hashable, deque[int]] = defaultdict(deque)
    for position, element in enumerate(other):
        if position not in taken and name(element) is not None:
            places[name(element)].append(position)
    for position, element in enumerate(one):
        if position not in matched and (waiting := places.get(name(element))):
            matched[position] = waiting.popleft()


def _encoded(element: Any) -> bytes:
    return msgspec.json.encode(element, order="deterministic")


def _key(element: Any) -> str | None:
    """What identifies an element, as text; `None` if nothing does."""
    if not isinstance(element, dict):
        return None
    if isinstance(raylet := element.get("raylet"), dict):
        return str(raylet.get("nodeId"))
    for names in _KEYS:
        if element.get(names[0]) is not None:
            return "/".join(str(element.get(name, "")) for name in names)
    return None
