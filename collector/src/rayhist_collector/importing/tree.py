"""Which sessions and nodes a folder holds: Ray's temp dir, a session's folder, or gathered logs."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from rayhist.errors import BadIdentifier, ConfigError
from rayhist.ids import IdKind, hex_id, session_name
from rayhist_collector import sessions
from rayhist_collector.sessions import SessionFolder

_MAX_DEPTH = 6
_TELLING = ("raylet.out", "gcs_server.out", "dashboard.log", "debug_state.txt", "dashboard_agent.log")
_SESSION = re.compile(rb"session_\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d_\d{6}(?:_\d{1,20})?")
_VERSION = re.compile(rb"[Rr]ay[ _]version[\"']?[:=] ?[\"']?(\d+\.\d+\.\d+\w*)")
_LOOK_BYTES = 256 << 10


class NodeLogs(msgspec.Struct, frozen=True):
    """The logs of one node in one session.  Times are epoch ms, 0 for unknown."""

    session: str
    node: str
    logs: Path
    role: str
    ip: str
    start_ms: int
    last_sign_ms: int
    ray_version: str = ""
    remarks: tuple[str, ...] = ()
    """What had to be guessed, in sentences."""


def find(root: Path, *, session: str = "", node: str = "") -> list[NodeLogs]:
    """Everything that looks like a node's logs below `root`, in order.

    `session` and `node` name what the files do not tell.  Raises `ConfigError` if nothing is there.
    """
    folders = sorted(set(_log_folders(root)))
    if not folders:
        raise ConfigError(
            f"{root} has no logs of Ray: no folder in it holds {', '.join(_TELLING[:3])} or a session's logs",
            remedy="name Ray's temp dir, a session's folder, or a folder of a node's log files",
        )
    found = {}
    for logs in folders:
        one = _look(logs, root, session, node)
        found[one.session, one.node, one.logs] = one
    return _told_apart([found[key] for key in sorted(found)])


def _told_apart(found: list[NodeLogs]) -> list[NodeLogs]:
    """Two folders of one node in one session would overwrite each other."""
    seen: set[tuple[str, str]] = set()
    for one in found:
        if (one.session, one.node) in seen:
            raise ConfigError(
                f"{one.logs} is of the same node and session as another folder ({one.node}, {one.session})",
                remedy="import one of them alone",
            )
        seen.add((one.session, one.node))
    return found


def _log_folders(root: Path) -> Iterator[Path]:
    """Folders that hold a node's logs; what is below one belongs to it.  Links are not followed."""
    base = len(root.parts)
    for place, folders, names in os.walk(root):
        here = Path(place)
        if any(name in names for name in _TELLING) or (here.name == "logs" and _named(here.parent.name)):
            yield here
            folders.clear()
        elif len(here.parts) - base >= _MAX_DEPTH:
            folders.clear()
        else:
            folders[:] = [
                name for name in folders if name != "rayhist-spool" and not Path(place, name).is_symlink()
            ]


def _look(logs: Path, root: Path, session: str, node: str) -> NodeLogs:
    remarks: list[str] = []
    name = _session_of(logs, root, session, remarks)
    folder = _Folder(name, logs.parent if logs.name == "logs" else logs, logs)
    evidence = sessions.nodes(folder)
    identity = node or (evidence[-1].node if evidence else "") or _node_named(logs, root)
    if not identity:
        identity = _made_up(name, logs.relative_to(root).as_posix())
        remarks.append("Nothing tells this node's id, so one was made up.")
    if len(evidence) > 1:
        remarks.append(
            f"The logs of {len(evidence)} raylets are in one folder; they are filed under the last."
        )
    glimpse = sessions.glimpse(folder)
    return NodeLogs(
        session=name,
        node=hex_id(IdKind.NODE, identity),
        logs=logs,
        role=glimpse.role or "worker",
        ip=glimpse.ip,
        start_ms=glimpse.start_ms,
        last_sign_ms=glimpse.last_sign_ms,
        ray_version=_version(logs),
        remarks=tuple(remarks),
    )


class _Folder(SessionFolder, frozen=True):
    """A session's folder whose logs may be anywhere."""

    log_folder: Path = Path()

    @property
    def logs(self) -> Path:
        return self.log_folder


def _session_of(logs: Path, root: Path, given: str, remarks: list[str]) -> str:
    if given:
        return session_name(given)
    for part in reversed(logs.parts):
        if _named(part):
            return part
    counts: dict[bytes, int] = {}
    for name in ("gcs_server.out", "raylet.out", "dashboard.log", "dashboard_agent.log", "monitor.log"):
        for found in _SESSION.findall(_beginning(logs / name)):
            counts[found] = counts.get(found, 0) + 1
    if counts:
        return max(counts, key=lambda one: (counts[one], one)).decode()
    times = [path.stat().st_mtime for path in logs.iterdir() if path.is_file()] or [root.stat().st_mtime]
    at = datetime.fromtimestamp(min(times), UTC)
    name = at.strftime("session_%Y-%m-%d_%H-%M-%S_") + f"{at.microsecond:06d}_0"
    remarks.append(f"Nothing tells the session's name; it was made up from the oldest file's time: {name}.")
    return name


def _node_named(logs: Path, root: Path) -> str:
    """A folder that is called like a node's id."""
    for part in reversed(logs.parts[len(root.parts) - 1 :]):
        with contextlib.suppress(BadIdentifier):
            return hex_id(IdKind.NODE, part)
    return ""


def _made_up(session: str, where: str) -> str:
    return hashlib.blake2b(f"{session}\0{where}".encode(), digest_size=IdKind.NODE.size).hexdigest()


def _named(text: str) -> bool:
    try:
        session_name(text)
    except BadIdentifier:
        return False
    return True


def _version(logs: Path) -> str:
    """Ray's version, if a log says it."""
    for path in (
        logs.parent / "usage_stats.json",
        *(logs / name for name in ("monitor.log", "gcs_server.out")),
    ):
        if match := _VERSION.search(_beginning(path)):
            return match[1].decode()
    return ""


def _beginning(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_LOOK_BYTES)
    except OSError:
        return b""
