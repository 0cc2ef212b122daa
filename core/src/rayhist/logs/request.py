"""What a log was asked for by: the parameters of `/api/v0/logs/file` and their rules.

Names, defaults and texts: `GetLogOptions` of `ray.util.state.common`, Ray 2.60.  Where Ray answers a plain
500 without a reason, these are errors 400 with Ray's internal text.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from rayhist.errors import BadIdentifier
from rayhist.ids import IdKind, hex_id
from rayhist.logs.error import LogError

DEFAULT_LINES = 1000
BAD_REQUEST = 400
_MAX_NUMBER = 2**53


class LogRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which log, and how much of it.  An id that was not given is empty, a pid 0."""

    node_id: str = ""
    node_ip: str = ""
    filename: str = ""
    actor_id: str = ""
    task_id: str = ""
    attempt_number: int = 0
    pid: int = 0
    submission_id: str = ""
    suffix: str = "out"
    """`out` or `err`: which file of a worker."""
    lines: int = DEFAULT_LINES
    """How many lines from the end; -1 for all."""
    filter_ansi_code: bool = False
    """Leave out colour sequences."""
    download_filename: str = "file.txt"


def parse_request(parameters: Mapping[str, str]) -> LogRequest:
    """Read the query's parameters; unknown ones are left alone.  Raises `LogError`."""
    texts = {name: parameters[name] for name in _TEXTS if parameters.get(name)}
    request = LogRequest(
        **texts,
        attempt_number=_number(parameters, "attempt_number", 0),
        pid=_number(parameters, "pid", 0),
        lines=_number(parameters, "lines", DEFAULT_LINES, lowest=-1) or DEFAULT_LINES,
        filter_ansi_code=parameters.get("filter_ansi_code", "").lower() == "true",
    )
    _check(request)
    return request


_TEXTS = (
    "node_id",
    "node_ip",
    "filename",
    "actor_id",
    "task_id",
    "submission_id",
    "suffix",
    "download_filename",
)


def checked_id(kind: IdKind, value: str) -> str:
    """The id in lower-case hex.  Raises `LogError`."""
    try:
        return hex_id(kind, value)
    except BadIdentifier as error:
        raise LogError(str(error), status=BAD_REQUEST) from error


def _number(parameters: Mapping[str, str], name: str, default: int, *, lowest: int = 0) -> int:
    text = parameters.get(name, "")
    if not text:
        return default
    try:
        value = int(text[:20])
    except ValueError:
        value = lowest - 1
    if not lowest <= value <= _MAX_NUMBER:
        raise LogError(f"{name} must be a whole number from {lowest} on: {text[:80]!r}", status=BAD_REQUEST)
    return value


def _check(request: LogRequest) -> None:
    if request.suffix not in {"out", "err"}:
        raise LogError(
            f"Invalid suffix: {request.suffix}. Must be one of 'out' or 'err'.", status=BAD_REQUEST
        )
    if request.node_id and request.node_ip:
        raise LogError(
            "Both node_id and node_ip are given. Only one of them can be provided. "
            f"Given node id: {request.node_id}, given node ip: {request.node_ip}",
            status=BAD_REQUEST,
        )
    by_itself = request.actor_id or request.task_id or request.submission_id
    if not (by_itself or request.pid or request.filename):
        raise LogError(
            "None of actor_id, task_id, pid, submission_id or filename is provided. "
            "At least one of them is required to fetch logs.",
            status=BAD_REQUEST,
        )
    if not (by_itself or request.node_id or request.node_ip):
        raise LogError(
            "node_id or node_ip must be provided as constructor arguments when no "
            "actor or task_id is supplied as arguments.",
            status=BAD_REQUEST,
        )
