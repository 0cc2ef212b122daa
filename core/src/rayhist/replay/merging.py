"""Putting together what many events said about one thing, in whatever order and however often they came."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from rayhist.errors import BadIdentifier
from rayhist.events import timestamp_ns
from rayhist.ids import IdKind, hex_from_base64

MS = 1_000_000
"""Nanoseconds."""

TOLERANCE_MS = 10
"""Between two times of one moment."""


class Transition(Protocol):
    """A change of state, as every lifecycle event lists them."""

    state: str
    timestamp: str


_DefinitionT = TypeVar("_DefinitionT", bound=msgspec.Struct)
_TransitionT = TypeVar("_TransitionT", bound=Transition)


class Definitions(Generic[_DefinitionT]):
    """What one thing was said to be.  A later statement wins, field by field; an empty field says nothing."""

    __slots__ = ("_said",)

    def __init__(self) -> None:
        self._said: list[tuple[int, _DefinitionT]] = []

    def add(self, at_ns: int, definition: _DefinitionT) -> None:
        if (at_ns, definition) not in self._said:
            self._said.append((at_ns, definition))

    @property
    def first_ms(self) -> int:
        """When the thing was first spoken of, epoch milliseconds; 0 if it never was."""
        return min((at_ns for at_ns, _ in self._said), default=0) // MS

    def merged(self) -> _DefinitionT | None:
        """`None` if nothing was said."""
        if len(self._said) < 2:
            return self._said[0][1] if self._said else None
        known: dict[str, Any] = {}
        ordered = sorted(self._said, key=lambda pair: (pair[0], msgspec.json.encode(pair[1])))
        for _, definition in ordered:
            known |= _filled(definition)
        return type(ordered[0][1])(**known)


def timed(transitions: Iterable[_TransitionT]) -> list[tuple[int, _TransitionT]]:
    """Each with its time in nanoseconds.  Raises `DataError` if one has none that can be believed."""
    return [(timestamp_ns(one.timestamp), one) for one in transitions]


class Transitions(Generic[_TransitionT]):
    """The changes of state of one thing, each once."""

    __slots__ = ("_by_moment",)

    def __init__(self) -> None:
        self._by_moment: dict[tuple[int, str], _TransitionT] = {}

    def add(self, transitions: Iterable[tuple[int, _TransitionT]]) -> None:
        """Take what `timed` returned."""
        for at_ns, one in transitions:
            moment = (at_ns, one.state)
            known = self._by_moment.get(moment)
            if known is None or (known != one and _encoded(one) > _encoded(known)):
                self._by_moment[moment] = one

    def ordered(self, states: Sequence[str]) -> list[tuple[int, _TransitionT]]:
        """Epoch milliseconds and transition, by time; at one time in the order of `states`."""
        ranks = {state: rank for rank, state in enumerate(states)}
        moments = sorted(self._by_moment, key=lambda moment: (moment[0], ranks.get(moment[1], -1), moment[1]))
        return [(moment[0] // MS, self._by_moment[moment]) for moment in moments]

    def last(self, state: str) -> tuple[int, _TransitionT] | None:
        """Epoch milliseconds and transition of the last change to `state`."""
        found = max((moment for moment in self._by_moment if moment[1] == state), default=None)
        return None if found is None else (found[0] // MS, self._by_moment[found])


def required_id(kind: IdKind, value: str) -> str:
    """The hex form of an event's base64 id.  Raises `BadIdentifier` if it is absent or malformed."""
    if not value:
        raise BadIdentifier(f"an event without its {kind} id")
    return hex_from_base64(kind, value)


def overlay(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """`below` with what `above` knows better: `None`, `""`, `{}` and `[]` there say less than anything."""
    better = {
        name: value
        for name, value in above.items()
        if said(value) or name not in below or (value is not None and not said(below[name]))
    }
    return {**below, **better}


def as_shown(at_ms: int, shown_ms: float | None) -> int:
    """The time of an event as the dashboard shows it, if it shows one that can be the same moment.

    Ray stamps a change in an event a little later than in its table.
    """
    return int(shown_ms) if shown_ms and abs(shown_ms - at_ms) <= TOLERANCE_MS else at_ms


def said(value: Any) -> bool:
    """Whether a value says anything: a number or a truth value always does."""
    if isinstance(value, bool | int | float):
        return True
    if isinstance(value, msgspec.Struct):
        return bool(_filled(value))
    return bool(value)


def _filled(struct: msgspec.Struct) -> dict[str, Any]:
    # A zero in an event may mean "unknown", so here it says nothing.
    values = ((name, getattr(struct, name)) for name in struct.__struct_fields__)
    return {name: value for name, value in values if value and said(value)}


def _encoded(value: Any) -> tuple[int, bytes]:
    data = msgspec.json.encode(value)
    return len(data), data
