"""What differs between two answers: status, headers, and every value of the body."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any

import msgspec

from rayhist_testkit.fidelity.pairing import identity, paired
from rayhist_testkit.fidelity.question import Given

_ID = re.compile(r"[0-9a-f]{8,}|raysubmit_\w+")
_JSON = "application/json"


class Kind(StrEnum):
    """How two answers differ at a field."""

    VALUE = "value"
    ABSENT = "absent"
    """The replay lacks it."""
    EXTRA = "extra"
    """Only the replay has it."""
    ORDER = "order"
    """The elements are the same, in another order."""


class Difference(msgspec.Struct, frozen=True):
    """A field that differs.

    `field` is the path of its kind (`.data.actors.<id>.pid`, `.data.summary[].now`, or `status`, `body`,
    `content-type`, `content-disposition`); `at` is the same path with the ids.
    """

    field: str
    at: str
    kind: Kind
    live: Any
    replay: Any


Stops = Callable[[str], bool]
"""Whether what stands at a field is to be compared as one value."""


def compare(live: Given, replay: Given, stops: Stops = lambda _: False) -> Iterator[Difference]:
    """Yield every difference; of two statuses nothing but these, since the bodies then say why."""
    if live.status != replay.status:
        yield _of_answer("status", [live.status, _shown(live)], [replay.status, _shown(replay)])
        return
    if live.kind != replay.kind:
        yield _of_answer("content-type", live.kind, replay.kind)
    if live.disposition != replay.disposition:
        yield _of_answer("content-disposition", live.disposition, replay.disposition)
    if live.body == replay.body:
        return
    try:
        bodies = _decoded(live), _decoded(replay)
    except msgspec.DecodeError:
        yield _of_answer("body", live.body, replay.body)
        return
    yield from _values("", "", *bodies, stops)


def _of_answer(field: str, live: Any, replay: Any) -> Difference:
    return Difference(field, field, Kind.VALUE, live, replay)


def _shown(answer: Given) -> str:
    return answer.body[:500].decode("utf-8", "replace")


def _decoded(answer: Given) -> Any:
    """Raises `DecodeError` for what is not JSON, or does not claim to be."""
    if not answer.kind.startswith(_JSON):
        raise msgspec.DecodeError
    return msgspec.json.decode(answer.body)


def _values(field: str, at: str, live: Any, replay: Any, stops: Stops) -> Iterator[Difference]:
    """Types count: `1` is not `1.0`, as it is not for a client that reads the JSON."""
    whole = stops(field)
    if not whole and isinstance(live, dict) and isinstance(replay, dict):
        yield from _objects(field, at, live, replay, stops)
    elif not whole and isinstance(live, list) and isinstance(replay, list):
        yield from _arrays(field, at, live, replay, stops)
    elif not same(live, replay):
        yield Difference(field, at, Kind.VALUE, live, replay)


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal, the order of an object's keys aside."""
    encode = msgspec.json.Encoder(order="deterministic").encode
    return encode(one) == encode(other)


def _objects(
    field: str, at: str, live: dict[str, Any], replay: dict[str, Any], stops: Stops
) -> Iterator[Difference]:
    for name in sorted(live.keys() | replay.keys()):
        here, there = f"{field}.{_ID.sub('<id>', name)}", f"{at}.{name}"
        if name not in replay:
            yield Difference(here, there, Kind.ABSENT, live[name], None)
        elif name not in live:
            yield Difference(here, there, Kind.EXTRA, None, replay[name])
        else:
            yield from _values(here, there, live[name], replay[name], stops)


def _arrays(field: str, at: str, live: list[Any], replay: list[Any], stops: Stops) -> Iterator[Difference]:
    here, before, ordered = f"{field}[]", -1, True
    for mine, other in paired(live, replay):
        if other is None:
            assert mine is not None
            yield Difference(here, f"{at}[{identity(live[mine], mine)}]", Kind.ABSENT, live[mine], None)
        elif mine is None:
            there = f"{at}[{identity(replay[other], other)}]"
            yield Difference(here, there, Kind.EXTRA, None, replay[other])
        else:
            there = f"{at}[{identity(live[mine], mine)}]"
            yield from _values(here, there, live[mine], replay[other], stops)
            ordered, before = ordered and other > before, other
    if not ordered:
        yield Difference(field, at, Kind.ORDER, live, replay)
