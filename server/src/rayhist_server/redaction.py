"""Runtime environments without their variables' values, as Ray's dashboard shows them to browsers.

Rules: `ray.dashboard.runtime_env_redaction` and `is_browser_request` of Ray 2.60.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

PLACEHOLDER = "<redacted>"

_BROWSER_HEADERS = (
    "referer",
    "origin",
    "sec-fetch-mode",
    "sec-fetch-dest",
    "sec-fetch-site",
    "sec-fetch-user",
    "access-control-request-method",
    "access-control-request-headers",
)
_MARK = b'runtime_env"'
"""Ends the keys `runtime_env` and `serialized_runtime_env`; within a string the quote would be escaped."""
_EMPTY = (
    b'"serialized_runtime_env":"{}"',
    b'"serialized_runtime_env":""',
    b'"runtime_env":{}',
    b'"runtime_env":null',
)


def is_browser(headers: Mapping[str, str]) -> bool:
    """Whether a request looks like a browser's."""
    return headers.get("user-agent", "").startswith("Mozilla") or any(
        name in headers for name in _BROWSER_HEADERS
    )


def redact(body: bytes) -> bytes:
    """JSON with every runtime environment in it redacted; what has none stays as it is, undecoded."""
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
