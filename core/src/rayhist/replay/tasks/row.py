"""From a record to the row of `/api/v0/tasks?detail=1`: `protobuf_to_task_state_dict` of Ray 2.60."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from rayhist.ids import IdKind
from rayhist.replay.tasks import runtime_env
from rayhist.replay.tasks.definition import ACTOR_TASK, DRIVER_TASK, Definition
from rayhist.replay.tasks.ending import Ending
from rayhist.replay.tasks.profile import Profiles
from rayhist.replay.tasks.record import Record
from rayhist.replay.tasks.states import CREATED, FAILED, FINISHED, NIL, RUNNING, STATES

_ANSI = re.compile(r"\x1b[^m]*m")
_TASK_BYTES = IdKind.TASK.size
_ANY_NODE = {"options": list[str]()}
"""`fallback_strategy` of every task but a driver's own; no event tells another."""


class RowMaker:
    """Makes rows; what the tasks of one definition have in common is made once."""

    def __init__(self, profiles: Profiles) -> None:
        self._profiles = profiles
        self._shared: dict[Definition, dict[str, Any]] = {}

    def row(
        self, key: bytes, record: Record, definition: Definition, ending: Ending | None
    ) -> dict[str, Any]:
        """The row of the attempt that the fold keeps under `key`; `ending` if nobody reported its end."""
        task_id = key[:_TASK_BYTES].hex()
        states = record.states if ending is None else {**record.states, FAILED: ending.at_ns}
        state = max(states, default=NIL)
        error_type, error_message = _error(record, ending) if state == FAILED else (None, None)
        row = {
            **self._common(definition),
            "task_id": task_id,
            "attempt_number": int.from_bytes(key[_TASK_BYTES:]),
            "state": STATES[state],
            "node_id": record.node or None,
            "worker_id": record.worker or None,
            "worker_pid": record.pid or None,
            "error_type": error_type,
            "profiling_data": self._profiles.data(task_id, record.profile),
            "task_log_info": _log_info(record),
            "error_message": error_message,
            "is_debugger_paused": record.paused[1] if record.paused else None,
            **_times(states),
        }
        if record.repr_name and row["type"] == ACTOR_TASK and row["name"] == row["func_or_class_name"]:
            row["name"] = f"{record.repr_name}.{definition.name.rpartition('.')[2]}"
        return row

    def _common(self, definition: Definition) -> dict[str, Any]:
        common = self._shared.get(definition)
        if common is None:
            common = self._shared[definition] = _columns(definition)
        return common


def _columns(definition: Definition) -> dict[str, Any]:
    return {
        "name": definition.name,
        "job_id": definition.job_id,
        "actor_id": definition.actor_id or None,
        "type": definition.type,
        "func_or_class_name": definition.function,
        "parent_task_id": definition.parent_task_id,
        "language": definition.language,
        "required_resources": _object(definition.resources),
        "runtime_env_info": msgspec.Raw(msgspec.json.encode(runtime_env.info(definition.runtime_env))),
        "placement_group_id": definition.placement_group_id or None,
        "call_site": definition.call_site or None,
        "label_selector": _object(definition.label_selector),
        "fallback_strategy": None if definition.type == DRIVER_TASK else _ANY_NODE,
    }


def _object(text: str) -> msgspec.Raw:
    return msgspec.Raw(text.encode() or b"{}")


def _times(states: dict[int, int]) -> dict[str, Any]:
    # Ray divides the nanoseconds as floats, so its milliseconds are rounded now and then: so are these.
    ms = {number: states[number] // 1e6 for number in sorted(states)}
    return {
        "events": [{"state": STATES[number], "created_ms": at} for number, at in ms.items()],
        "creation_time_ms": ms.get(CREATED),
        "start_time_ms": ms.get(RUNNING),
        "end_time_ms": ms.get(FAILED, ms.get(FINISHED)),
    }


def _error(record: Record, ending: Ending | None) -> tuple[str | None, str | None]:
    if ending is not None:
        return ending.error_type, ending.message
    if record.error is None:
        return None, None
    _, kind, message = record.error
    return kind, _ANSI.sub("", message)


def _log_info(record: Record) -> dict[str, Any] | None:
    """Only what is known: an end is left out until the task has ended, as Ray does."""
    if record.log is None:
        return None
    return {name: value for name, value in record.log._asdict().items() if value is not None}
