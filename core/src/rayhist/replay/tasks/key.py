"""The key of a task attempt: bytes that sort as the rows do, by task, and of a task the last attempt first.

Ray leaves the order of a task's attempts to chance.  The dashboard's page of a task asks for one attempt, and
the last one is what became of the task.
"""

from __future__ import annotations

import binascii

from rayhist.errors import BadIdentifier
from rayhist.ids import IdKind

_TASK_BYTES = IdKind.TASK.size
_JOB_BYTES = IdKind.JOB.size
_LAST_ATTEMPT = 2**32 - 1


def key_of(task_id: str, attempt: int) -> bytes:
    """The key for a task's id in base64.  Raises `BadIdentifier`."""
    try:
        raw = binascii.a2b_base64(task_id, strict_mode=True)
    except ValueError as error:
        raise BadIdentifier(f"not a base64 task id: {task_id[:80]!r}") from error
    if len(raw) != _TASK_BYTES:
        raise BadIdentifier(f"a task id has {_TASK_BYTES} bytes, not {len(raw)}: {task_id[:80]!r}")
    return raw + (_LAST_ATTEMPT - attempt).to_bytes(4, "big")


def task_of(key: bytes) -> str:
    """The task's id in hex."""
    return key[:_TASK_BYTES].hex()


def attempt_of(key: bytes) -> int:
    return _LAST_ATTEMPT - int.from_bytes(key[_TASK_BYTES:], "big")


def job_of(key: bytes) -> str:
    """The job's id in hex: what every task's id ends with."""
    return key[_TASK_BYTES - _JOB_BYTES : _TASK_BYTES].hex()
