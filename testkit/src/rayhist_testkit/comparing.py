"""Compare what was replayed with what was live, field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

ABSENT = "<absent>"
_MS = 1e12
"""Numbers from here on are epoch milliseconds."""

Difference = tuple[str, Any, Any]
"""Path, replayed, live."""


def differences(replayed: Any, live: Any, *, tolerance_ms: int = 2, path: str = "") -> Iterator[Difference]:
    """Yield what differs.  Times may differ by `tolerance_ms`: Ray stamps its events a little later.

    Types count: `1` is not `1.0`, as it is not for a client that reads the JSON.
    """
    if isinstance(replayed, dict) and isinstance(live, dict):
        for name in sorted(replayed.keys() | live.keys()):
            ours, theirs = replayed.get(name, ABSENT), live.get(name, ABSENT)
            yield from differences(ours, theirs, tolerance_ms=tolerance_ms, path=f"{path}.{name}")
    elif isinstance(replayed, list) and isinstance(live, list) and len(replayed) == len(live):
        for ours, theirs in zip(replayed, live, strict=True):
            yield from differences(ours, theirs, tolerance_ms=tolerance_ms, path=f"{path}[]")
    elif type(replayed) is not type(live) or not _same(replayed, live, tolerance_ms):
        yield path, replayed, live


def _same(replayed: Any, live: Any, tolerance_ms: int) -> bool:
    if isinstance(live, int | float) and live > _MS:
        return bool(abs(replayed - live) <= tolerance_ms)
    return bool(replayed == live)


def all_differences(
    replayed: Mapping[str, Any], live: Mapping[str, Any], *, tolerance_ms: int = 2
) -> list[tuple[str, Difference]]:
    """The differences of things by id; one that is missing on a side differs as a whole."""
    return [
        (identifier, found)
        for identifier in sorted(replayed.keys() | live.keys())
        for found in differences(
            replayed.get(identifier, ABSENT), live.get(identifier, ABSENT), tolerance_ms=tolerance_ms
        )
    ]
