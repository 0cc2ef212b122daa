"""What profiles say: some five entries per task, so an entry is packed numbers, and a text is kept once."""

from __future__ import annotations

import binascii
import struct
from typing import Any

import msgspec

from rayhist.errors import DataError
from rayhist.events import ProfileEvents

MAX_ENTRIES = 1000
"""Ray keeps no more of an attempt: `RAY_task_events_max_num_profile_events_per_task`."""

_ENTRY = struct.Struct("<qqIII")
_Entry = tuple[int, int, str, str, tuple[str, str, str]]
"""End, start, name, extra data, and the component."""

_OWN_ID = "\0"
"""Stands for the task's own id in extra data, which no two tasks would share otherwise.  JSON has no NUL."""


class Profiles:
    """The texts of all attempts' profiles.  What belongs to one attempt is in the bytes `packed` returns."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._texts: list[Any] = []

    def packed(self, task_id: str, events: ProfileEvents) -> bytes:
        """The entries of an event; those of several are simply put together.  The task's id is in hex.

        Raises `DataError` if an entry's extra data is no JSON object.
        """
        extras = [self._extra(task_id, entry.extra_data) for entry in events.events]
        component = self._number(_component(events))
        return b"".join(
            _ENTRY.pack(entry.start_time, entry.end_time, component, self._number(entry.event_name), extra)
            for entry, extra in zip(events.events, extras, strict=True)
        )

    def together(self, one: bytes, other: bytes) -> bytes:
        """What two `packed` say, with no more than twice what is shown of it."""
        both = one + other
        if len(both) <= 2 * MAX_ENTRIES * _ENTRY.size:
            return both
        return b"".join(_ENTRY.pack(*numbers) for _, numbers in self._kept(both))

    def data(self, task_id: str, packed: bytes) -> dict[str, Any]:
        """`profiling_data` as Ray answers it: by end, each entry once, times in floating milliseconds."""
        kept = [said for said, _ in self._kept(packed)]
        if not kept:
            return {}
        kind, identifier, address = max(component for *_, component in kept)
        return {
            "component_type": kind,
            "component_id": identifier,
            "node_ip_address": address,
            "events": [
                {
                    "start_time": start / 1e6,
                    "end_time": end / 1e6,
                    "extra_data": msgspec.Raw(extra.replace(_OWN_ID, task_id).encode()),
                    "event_name": name,
                }
                for end, start, name, extra, _ in kept
            ],
        }

    def _kept(self, packed: bytes) -> list[tuple[_Entry, tuple[int, ...]]]:
        """The first entries by end, each once, with the numbers they are packed as."""
        texts = self._texts
        entries: set[tuple[_Entry, tuple[int, ...]]] = {
            ((end, start, texts[name], texts[extra], texts[component]), (start, end, component, name, extra))
            for start, end, component, name, extra in _ENTRY.iter_unpack(packed)
        }
        return sorted(entries)[:MAX_ENTRIES]

    def _extra(self, task_id: str, text: str) -> int:
        shared = text.replace(task_id, _OWN_ID) if task_id in text else text
        if shared not in self._numbers:
            _check(text)
        return self._number(shared)

    def _number(self, text: Any) -> int:
        number = self._numbers.setdefault(text, len(self._texts))
        if number == len(self._texts):
            self._texts.append(text)
        return number


def _component(events: ProfileEvents) -> tuple[str, str, str]:
    """Type, id in hex, and address of what recorded the profile: a worker or a driver."""
    try:
        identifier = binascii.a2b_base64(events.component_id, strict_mode=True).hex()
    except ValueError as error:
        raise DataError(f"not a base64 id: {events.component_id[:80]!r}") from error
    return events.component_type, identifier, events.node_ip_address


def _check(extra_data: str) -> None:
    try:
        msgspec.json.decode(extra_data, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise DataError(f"a profile's extra data is no JSON object: {extra_data[:80]!r}") from error
