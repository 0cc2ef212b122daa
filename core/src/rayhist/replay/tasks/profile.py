"""What profiles say: some five entries per task, so an entry is packed numbers, and a text is kept once."""

from __future__ import annotations

import binascii
import struct
from operator import itemgetter
from typing import Any

import msgspec

from rayhist.errors import DataError
from rayhist.events import ProfileEvents

MAX_ENTRIES = 1000
"""Ray keeps no more of an attempt: `RAY_task_events_max_num_profile_events_per_task`."""

_ENTRY = struct.Struct("<qqIII")
"""Start and end in nanoseconds, and the numbers of component, name and extra data."""

_OWN_ID = "\0"
"""Stands for the task's own id in extra data, which no two tasks would share otherwise.  JSON has no NUL."""

_Entry = tuple[int, int, str, str, tuple[str, str, str]]
"""End, start, name, extra data, and what recorded it."""

_RECORDER = itemgetter(4)


class Span(msgspec.Struct):
    """One entry as Ray answers it: floating milliseconds."""

    start_time: float
    end_time: float
    extra_data: msgspec.Raw
    event_name: str


class Profile(msgspec.Struct):
    """`profiling_data` as Ray answers it."""

    component_type: str
    component_id: str
    node_ip_address: str
    events: list[Span]


NO_PROFILE = msgspec.Raw(b"{}")


class _Numbers(dict[Any, int]):
    """Numbers for what is known, and what is known by number."""

    def __init__(self) -> None:
        self.known: list[Any] = []

    def __missing__(self, value: Any) -> int:
        number = self[value] = len(self.known)
        self.known.append(value)
        return number


class _Extras(_Numbers):
    """Extra data, as it is answered but for the task's own id.  Raises `DataError` for what is no object."""

    def __missing__(self, value: str) -> int:
        try:
            msgspec.json.decode(value.replace(_OWN_ID, ""), type=dict[str, Any])
        except (msgspec.MsgspecError, RecursionError) as error:
            raise DataError(f"a profile's extra data is no JSON object: {value[:80]!r}") from error
        return super().__missing__(value)


class _Components(dict[tuple[str, str, str], tuple[str, str, str]]):
    """Type, id and address of what recorded a profile, a worker or a driver: from base64 to hex."""

    def __missing__(self, posted: tuple[str, str, str]) -> tuple[str, str, str]:
        kind, identifier, address = posted
        try:
            found = kind, binascii.a2b_base64(identifier, strict_mode=True).hex(), address
        except ValueError as error:
            raise DataError(f"not a base64 id: {identifier[:80]!r}") from error
        self[posted] = found
        return found


class Profiles:
    """The texts of all attempts' profiles.  What belongs to one attempt is in the bytes `packed` returns."""

    def __init__(self) -> None:
        self._components = _Components()
        self._recorders, self._names, self._extras = _Numbers(), _Numbers(), _Extras()
        self._answered: dict[str, msgspec.Raw] = {}

    def packed(self, task_id: str, events: ProfileEvents) -> bytes:
        """The entries of an event.  The task's id is in hex.

        Raises `DataError` if an entry's extra data is no JSON object, or the component's id is none.
        """
        recorder = self._recorders[
            self._components[events.component_type, events.component_id, events.node_ip_address]
        ]
        names, extras, pieces = self._names, self._extras, []
        for entry in events.events:
            extra = entry.extra_data.replace(task_id, _OWN_ID)
            pieces.append(
                _ENTRY.pack(
                    entry.start_time, entry.end_time, recorder, names[entry.event_name], extras[extra]
                )
            )
        return b"".join(pieces)

    def together(self, one: bytes, other: bytes) -> bytes:
        """What two `packed` say, with no more than twice what is shown of it."""
        both = one + other
        if len(both) <= 2 * MAX_ENTRIES * _ENTRY.size:
            return both
        return b"".join(
            _ENTRY.pack(start, end, self._recorders[recorder], self._names[name], self._extras[extra])
            for end, start, name, extra, recorder in self._kept(both)
        )

    def unpacked(self, task_id: str, packed: bytes) -> Profile | msgspec.Raw:
        """The first entries by their end, each once."""
        kept = self._kept(packed)
        if not kept:
            return NO_PROFILE
        kind, identifier, address = max(map(_RECORDER, kept))
        spans = [
            Span(start / 1e6, end / 1e6, self._answer(extra, task_id), name)
            for end, start, name, extra, _ in kept
        ]
        return Profile(kind, identifier, address, spans)

    def _kept(self, packed: bytes) -> list[_Entry]:
        recorders, names, extras = self._recorders.known, self._names.known, self._extras.known
        entries = {
            (end, start, names[name], extras[extra], recorders[recorder])
            for start, end, recorder, name, extra in _ENTRY.iter_unpack(packed)
        }
        return sorted(entries)[:MAX_ENTRIES]

    def _answer(self, extra: str, task_id: str) -> msgspec.Raw:
        if _OWN_ID in extra:
            return msgspec.Raw(extra.replace(_OWN_ID, task_id).encode())
        answer = self._answered.get(extra)
        if answer is None:
            answer = self._answered[extra] = msgspec.Raw(extra.encode())
        return answer
