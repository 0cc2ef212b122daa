"""A stretch of one node's log file, found by its path in the index and nowhere else.

No name that was asked for ever becomes part of a path or key: it is looked up among the recorded names.
"""

from __future__ import annotations

import re

import msgspec

from rayhist.errors import BadIdentifier
from rayhist.ids import relative_path
from rayhist.index import Index
from rayhist.logs.error import LogError, clipped
from rayhist.logs.nodes import require_logs
from rayhist.logs.request import BAD_REQUEST

_IN_SESSION = re.compile(r"/(?:[^/]+/)*?session_[^/]+/logs/(.+)\Z", re.DOTALL)


class LogSlice(msgspec.Struct, frozen=True):
    """Bytes `[start, end)` of a log file: node id, path below `logs/`."""

    node: str
    path: str
    start: int
    end: int


def path_of(filename: str) -> str:
    """The path below `logs/` that a file name means; Ray also takes the absolute one.  Raises `LogError`."""
    inside = _IN_SESSION.match(filename)
    name = inside[1] if inside else filename
    if name.startswith("/"):
        raise LogError(f"A file is not found at: {clipped(filename)}")
    plain = "/".join(part for part in name.split("/") if part not in {"", "."})
    try:
        return relative_path(plain)
    except BadIdentifier as error:
        raise LogError(
            f"Not the name of a log file: {clipped(filename)}",
            status=BAD_REQUEST,
            remedy="give a path below the node's log folder, as the list of its files has it",
        ) from error


def whole(index: Index, node: str, path: str) -> LogSlice:
    """All of a recorded file.  Raises `LogError` if there is none."""
    row = index.log_file(node, path)
    if row is not None:
        return LogSlice(node, path, 0, row.size)
    require_logs(index, node)
    raise LogError(f"A file is not found at: {_log_folder(index, node)}/{clipped(path)}")


class _Raylet(msgspec.Struct, frozen=True, rename="camel"):
    session_dir: str = ""


class _Summary(msgspec.Struct, frozen=True):
    raylet: _Raylet = _Raylet()


def _log_folder(index: Index, node: str) -> str:
    """The node's log folder as it was called on the node, or just `logs`."""
    document = index.document("node.summary", node)
    try:
        known = msgspec.json.decode(document or b"{}", type=_Summary).raylet.session_dir
    except msgspec.DecodeError:
        known = ""
    return f"{known}/logs" if known else "logs"
