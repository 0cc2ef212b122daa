"""Two JSON documents, field by field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

_ABSENT = "(absent)"


class Difference(msgspec.Struct, frozen=True):
    """Where two documents differ: a pointer such as `/data/result/3/state`, and both values."""

    pointer: str
    live: Any
    ours: Any

    def __str__(self) -> str:
        return f"{self.pointer or '/'}: live {_shown(self.live)}, ours {_shown(self.ours)}"


def differences(live: Any, ours: Any, pointer: str = "") -> Iterator[Difference]:
    """Every place in which the documents differ; numbers must be of one type, as in JSON text."""
    if isinstance(live, dict) and isinstance(ours, dict):
        for key in sorted(live.keys() | ours.keys()):
            yield from differences(live.get(key, _ABSENT), ours.get(key, _ABSENT), f"{pointer}/{key}")
    elif isinstance(live, list) and isinstance(ours, list):
        for position in range(max(len(live), len(ours))):
            one = live[position] if position < len(live) else _ABSENT
            other = ours[position] if position < len(ours) else _ABSENT
            yield from differences(one, other, f"{pointer}/{position}")
    elif type(live) is not type(ours) or live != ours:
        yield Difference(pointer, live, ours)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 100 else text[:97] + "..."
