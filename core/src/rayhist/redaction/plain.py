"""Decoded JSON without the values of variables, as Ray's dashboard shows it to browsers.

Rules: `ray.dashboard.runtime_env_redaction` of Ray 2.60.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from rayhist.redaction.rules import PLACEHOLDER

_MARK = b'runtime_env"'
"""Ends the keys `runtime_env` and `serialized_runtime_env`; within a string the quote would be escaped."""
_EMPTY = (
    b'"serialized_runtime_env":"{}"',
    b'"serialized_runtime_env":""',
    b'"runtime_env":{}',
    b'"runtime_env":null',
)


def redact_everything(body: bytes) -> bytes:
    """JSON with every variable of every runtime environment redacted; what has none stays undecoded."""
    marks = body.count(_MARK)
    if not marks or marks == sum(map(body.count, _EMPTY)):
        return body
    return msgspec.json.encode(redacted(msgspec.json.decode(body)))


def redacted(value: Any) -> Any:
    """A copy of plain JSON data with the values of variables replaced, their names kept."""
    if isinstance(value, list):
        return [redacted(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _SECRET.get(key, redacted)(inner) for key, inner in value.items()}


def _environment(value: Any) -> Any:
    if not isinstance(value, dict) or not isinstance(value.get("env_vars"), dict):
        return value
    return value | {"env_vars": dict.fromkeys(value["env_vars"], PLACEHOLDER)}


def _serialized(value: Any) -> Any:
    """What cannot be understood might hold secrets, so it goes as a whole."""
    if not isinstance(value, str) or not value:
        return value
    try:
        environment = json.loads(value)
    except ValueError:
        return PLACEHOLDER
    if not isinstance(environment, dict):
        return PLACEHOLDER
    return json.dumps(_environment(environment), sort_keys=True)


_SECRET = {"runtime_env": _environment, "serialized_runtime_env": _serialized}
