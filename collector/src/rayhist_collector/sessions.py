"""What Ray's temp dir says by itself: which sessions there are, whose node this is, when it began.

    <temp dir>/session_latest -> session_…         a link that may lead nowhere in a sidecar: its name counts
    <temp dir>/session_…/…_port_<node id>          written by each raylet of this folder (Ray 2.60)
    <temp dir>/session_…/logs/debug_state.txt      "Node ID: <node id>", rewritten every 10 s by the raylet
    <temp dir>/session_…/logs/raylet.out           "Setting node ID node_id=<node id>" near its beginning
    <temp dir>/session_…/logs/gcs_server.out       on the head only

Nothing here raises: a folder that is missing or unreadable says nothing.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from rayhist.errors import BadIdentifier
from rayhist.ids import session_name
from rayhist_collector.local_time import to_utc_ms

_PORT_FILE = re.compile(r"[a-z_]+_port_([0-9a-f]{56})\Z")
_NODE_ID = re.compile(rb"(?:Node ID: |Setting node ID node_id=|Raylet of id, )([0-9a-f]{56})\b")
_ADDRESS = re.compile(rb"node_manager address: ([0-9A-Fa-f.:\[\]]+):\d+")
_DASHBOARD = re.compile(rb"Dashboard head http address: (\S+):(\d+)")
_LOOK_BYTES = 64 << 10


class SessionFolder(msgspec.Struct, frozen=True):
    """One session's folder on this node."""

    name: str
    path: Path

    @property
    def logs(self) -> Path:
        return self.path / "logs"


class NodeEvidence(msgspec.Struct, frozen=True):
    """A node's id in hex, and since when (epoch ms) it is so."""

    node: str
    since_ms: int


def folders(temp_dir: Path) -> list[SessionFolder]:
    """The sessions' folders, oldest first by name."""
    found = []
    with contextlib.suppress(OSError):
        for entry in os.scandir(temp_dir):
            with contextlib.suppress(BadIdentifier, OSError):
                if entry.is_dir(follow_symlinks=False):
                    found.append(SessionFolder(session_name(entry.name), Path(entry.path)))
    return sorted(found, key=lambda folder: folder.name)


def latest(temp_dir: Path) -> SessionFolder | None:
    """The session that Ray says is the current one."""
    with contextlib.suppress(OSError, BadIdentifier):
        target = Path(os.readlink(temp_dir / "session_latest")).name  # noqa: PTH115 - as text, not resolved
        path = temp_dir / session_name(target)
        if path.is_dir():
            return SessionFolder(target, path)
    return None


def nodes(folder: SessionFolder) -> list[NodeEvidence]:
    """The nodes whose raylets wrote into this folder, the last one last; usually one."""
    ports = {
        match[1]: _modified_ms(folder.path / name)
        for name in _names(folder.path)
        if (match := _PORT_FILE.match(name))
    }
    if ports:
        found = [NodeEvidence(node, since_ms) for node, since_ms in ports.items()]
        return sorted(found, key=lambda evidence: evidence.since_ms)
    for name in ("debug_state.txt", "raylet.out"):
        path = folder.logs / name
        if said := _NODE_ID.search(_beginning(path)):
            return [NodeEvidence(said[1].decode(), _modified_ms(path))]
    return []


def role(folder: SessionFolder) -> str:
    """`head`, `worker`, or `""` while the folder does not tell."""
    if (folder.logs / "gcs_server.out").exists() or (folder.logs / "dashboard.log").exists():
        return "head"
    # The head starts its GCS before its raylet, so a raylet without a GCS is a worker's.
    return "worker" if (folder.logs / "raylet.out").exists() else ""


def ip(folder: SessionFolder) -> str:
    """The node's address, as its raylet logged it."""
    match = _ADDRESS.search(_beginning(folder.logs / "raylet.out"))
    return match[1].decode() if match else ""


def dashboard_address(folder: SessionFolder) -> str:
    """The dashboard's URL as its log says, `""` if it does not."""
    match = _DASHBOARD.search(_beginning(folder.logs / "dashboard.log"))
    if not match:
        return ""
    host = match[1].decode("ascii", "replace")
    return f"http://{'127.0.0.1' if host in {'0.0.0.0', '::', '[::]'} else host}:{match[2].decode()}"  # noqa: S104 - compared, not bound


def workers_ran(folder: SessionFolder) -> bool:
    """Whether a worker process of this node was given a job: then its output begins with a line."""
    names = (name for name in _names(folder.logs) if name.startswith("worker-") and name.endswith(".out"))
    return any(_size(folder.logs / name) for name in names)


def start_ms(folder: SessionFolder) -> int:
    """When the session began, epoch ms: the local time in its name, put right by its oldest files' times."""
    times = [_modified_ms(path) for path in _oldest_candidates(folder)]
    return to_utc_ms(folder.name, evidence_ms=min(filter(None, times), default=0))


def last_sign_ms(folder: SessionFolder) -> int:
    """When something last changed in the session's logs, epoch ms; 0 if there is nothing."""
    newest = 0
    for place, _, names in os.walk(folder.logs):
        newest = max([newest, *(_modified_ms(Path(place, name)) for name in names)])
    return newest


class Glimpse(msgspec.Struct, frozen=True):
    """What a session's folder says of the session and its node; times are epoch ms, 0 for unknown."""

    role: str = ""
    ip: str = ""
    start_ms: int = 0
    last_sign_ms: int = 0
    workers_ran: bool = False


def glimpse(folder: SessionFolder) -> Glimpse:
    return Glimpse(
        role=role(folder),
        ip=ip(folder),
        start_ms=start_ms(folder),
        last_sign_ms=last_sign_ms(folder),
        workers_ran=workers_ran(folder),
    )


def _oldest_candidates(folder: SessionFolder) -> Iterator[Path]:
    for base in (folder.path, folder.logs):
        for name in _names(base):
            yield base / name


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - names, not paths
    except OSError:
        return []


def _modified_ms(path: Path) -> int:
    try:
        return path.stat(follow_symlinks=False).st_mtime_ns // 1_000_000
    except OSError:
        return 0


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _beginning(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_LOOK_BYTES)
    except OSError:
        return b""
