"""How many events of each type one object holds, and of which time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import msgspec

from rayhist.errors import DataError
from rayhist.events import Event, timestamp_ns
from rayhist.manifest import Stored

_SECOND = len("2026-11-30T15:45:17")


class _Counted(msgspec.Struct):
    """Times stay text until the end: they are as many as the events."""

    count: int = 0
    bytes: int = 0
    first: str = "~"
    last: str = ""


class Tally:
    def __init__(self) -> None:
        self._types: dict[str, _Counted] = {}

    def count(self, event: Event, size: int) -> None:
        """Count an event of `size` bytes."""
        counted = self._types.get(event.event_type)
        if counted is None:
            counted = self._types[event.event_type] = _Counted()
        counted.count += 1
        counted.bytes += size
        second = event.timestamp[:_SECOND]
        if not counted.first <= second <= counted.last:
            counted.first, counted.last = min(counted.first, second), max(counted.last, second)

    def counts(self) -> Iterator[tuple[str, int]]:
        """How many events there were of each type."""
        return ((event_type, counted.count) for event_type, counted in self._types.items())

    def add_to(self, recorded: dict[str, Stored]) -> None:
        """Add what was counted to what is known of each type."""
        for event_type, counted in self._types.items():
            stored = recorded.setdefault(event_type, Stored())
            stored.count += counted.count
            stored.bytes += counted.bytes
            first_ms, last_ms = _ms(counted.first), _ms(counted.last)
            stored.first_ms = min(filter(None, (stored.first_ms, first_ms)), default=0)
            stored.last_ms = max(stored.last_ms, last_ms)


def _ms(second: str) -> int:
    """Epoch milliseconds; 0 for what is no time."""
    with contextlib.suppress(DataError):
        return timestamp_ns(second + "Z") // 1_000_000
    return 0
