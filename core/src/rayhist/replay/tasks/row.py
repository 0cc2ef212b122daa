"""From a record to its row in the index: `protobuf_to_task_state_dict` of Ray 2.60.

There may be millions of rows, so what the tasks of one definition have in common is encoded once.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import msgspec

from rayhist.replay.tasks import runtime_env
from rayhist.replay.tasks.definition import ACTOR_TASK, DRIVER_TASK, Definition
from rayhist.replay.tasks.ending import Ending
from rayhist.replay.tasks.key import attempt_of, task_of
from rayhist.replay.tasks.profile import Profile, Profiles
from rayhist.replay.tasks.record import Record, Slice
from rayhist.replay.tasks.states import CREATED, FAILED, FINISHED, NIL, RUNNING, STATES

_OWN = (
    "more",
    "task_id",
    "attempt_number",
    "name",
    "state",
    "node_id",
    "worker_id",
    "worker_pid",
    "error_type",
    "is_debugger_paused",
    "creation_time_ms",
)
_SHARED = (
    "job_id",
    "actor_id",
    "type",
    "func_or_class_name",
    "parent_task_id",
    "language",
    "placement_group_id",
)
COLUMNS = _OWN + _SHARED
"""The columns of the table that a row holds."""

_ANSI = re.compile(r"\x1b[^m]*m")
_ANY_NODE: dict[str, list[str]] = {"options": []}
"""`fallback_strategy` of every task but a driver's own; no event tells another."""


class _Entered(msgspec.Struct):
    state: str
    created_ms: float


class _Detail(msgspec.Struct):
    """The columns that `detail` adds and that are the attempt's own, in the order of `TASKS`."""

    events: list[_Entered]
    profiling_data: Profile | msgspec.Raw
    creation_time_ms: float | None
    start_time_ms: float | None
    end_time_ms: float | None
    task_log_info: Slice | None
    error_message: str | None
    is_debugger_paused: bool | None


class _Shared(NamedTuple):
    """What the rows of a definition have in common; `_Detail` stands between `head` and `tail`."""

    columns: tuple[str | None, ...]
    head: bytes
    tail: bytes


class RowMaker:
    """Makes rows, each with the values of `COLUMNS`."""

    def __init__(self, profiles: Profiles) -> None:
        self._profiles = profiles
        self._known: dict[Definition, _Shared] = {}
        self._encode = msgspec.json.Encoder().encode

    def row(
        self, key: bytes, record: Record, definition: Definition, ending: Ending | None
    ) -> tuple[Any, ...]:
        """The row of the attempt that the fold keeps under `key`; `ending` if nobody reported its end."""
        task_id = task_of(key)
        states = record.states if ending is None else {**record.states, FAILED: ending.at_ns}
        state = max(states, default=NIL)
        error_type, error_message = _error(record, ending) if state == FAILED else (None, None)
        # Ray divides the nanoseconds as floats, so its milliseconds are rounded now and then: so are these.
        ms = {number: states[number] // 1e6 for number in sorted(states)}
        detail = _Detail(
            [_Entered(STATES[number], at) for number, at in ms.items()],
            self._profiles.unpacked(task_id, record.profile),
            ms.get(CREATED),
            ms.get(RUNNING),
            ms.get(FAILED, ms.get(FINISHED)),
            record.log,
            error_message,
            record.paused[1] if record.paused else None,
        )
        shared = self._shared(definition)
        return (
            shared.head + self._encode(detail)[1:-1] + shared.tail,
            task_id,
            attempt_of(key),
            _name(record, definition),
            STATES[state],
            record.node or None,
            record.worker or None,
            record.pid or None,
            error_type,
            detail.is_debugger_paused,
            detail.creation_time_ms,
            *shared.columns,
        )

    def _shared(self, definition: Definition) -> _Shared:
        shared = self._known.get(definition)
        if shared is None:
            shared = self._known[definition] = _in_common(definition)
        return shared


def _in_common(definition: Definition) -> _Shared:
    columns = (
        definition.job_id,
        definition.actor_id or None,
        definition.type,
        definition.function,
        definition.parent_task_id,
        definition.language,
        definition.placement_group_id or None,
    )
    head = {
        "language": definition.language,
        "required_resources": _object(definition.resources),
        "runtime_env_info": runtime_env.info(definition.runtime_env),
        "placement_group_id": definition.placement_group_id or None,
    }
    tail = {
        "call_site": definition.call_site or None,
        "label_selector": _object(definition.label_selector),
        "fallback_strategy": None if definition.type == DRIVER_TASK else _ANY_NODE,
    }
    return _Shared(columns, msgspec.json.encode(head)[:-1] + b",", b"," + msgspec.json.encode(tail)[1:])


def _object(text: str) -> msgspec.Raw:
    return msgspec.Raw(text.encode() or b"{}")


def _name(record: Record, definition: Definition) -> str:
    """An actor task that was given no name is called after its actor, if that says what it is called."""
    if record.repr_name and definition.type == ACTOR_TASK and definition.name == definition.function:
        return f"{record.repr_name}.{definition.name.rpartition('.')[2]}"
    return definition.name


def _error(record: Record, ending: Ending | None) -> tuple[str | None, str | None]:
    if ending is not None:
        return ending.error_type, ending.message
    if record.error is None:
        return None, None
    _, kind, message = record.error
    return kind, _ANSI.sub("", message)
