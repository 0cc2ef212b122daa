"""The two small JSON documents that say what a session is and what a node recorded.

Times are epoch milliseconds, UTC.  Fields that a writer does not know are 0 or empty; a reader takes unknown
fields and an empty document (KubeRay's marker) as they come.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TypeVar

import msgspec

from rayhist import layout
from rayhist.errors import DataError

_T = TypeVar("_T")


class Ending(StrEnum):
    """How a session, or a node's part in it, ended, as its collector saw it."""

    RUNNING = ""
    CLEAN = "clean"
    """The collector was stopped and swept everything."""
    REPLACED = "replaced"
    """The head was restarted: another session followed in the same place."""
    IMPORTED = "imported"
    """No collector saw it: it was imported, after the fact, or once while it went on (then `end_ms` is 0)."""


class JobSummary(msgspec.Struct, omit_defaults=True):
    """A job as the list of sessions shows it: its id or submission id, status and entrypoint."""

    id: str
    status: str = ""
    entrypoint: str = ""


class SessionMarker(msgspec.Struct, omit_defaults=True):
    """The session's marker; the head's collector writes it at start, at each heartbeat, and at the end."""

    layout_version: int = layout.VERSION
    cluster_uid: str = ""
    ray_version: str = ""
    python_version: str = ""
    collector_version: str = ""
    head_node: str = ""
    start_ms: int = 0
    last_seen_ms: int = 0
    heartbeat_interval_s: float = 0
    end_ms: int = 0
    ending: Ending = Ending.RUNNING
    timezone: str = ""
    labels: dict[str, str] = {}
    imported: str = ""
    """Of an imported session: a sentence that says when, and from what."""
    jobs: list[JobSummary] = []


class Stored(msgspec.Struct, omit_defaults=True):
    """How much of something was stored: count of items, bytes, and the first and last time seen."""

    count: int = 0
    bytes: int = 0
    first_ms: int = 0
    last_ms: int = 0


class Loss(msgspec.Struct, omit_defaults=True):
    """Something that could not be recorded: what, how often, why, and between which times."""

    what: str
    reason: str
    count: int = 0
    first_ms: int = 0
    last_ms: int = 0


class NodeManifest(msgspec.Struct, omit_defaults=True):
    """What one node recorded; the completeness report is made from it."""

    node_id: str = ""
    ip: str = ""
    hostname: str = ""
    role: str = ""
    start_ms: int = 0
    last_seen_ms: int = 0
    end_ms: int = 0
    ending: Ending = Ending.RUNNING
    events: dict[str, Stored] = {}
    """By event type."""
    logs: dict[str, Stored] = {}
    """By path below `logs/`; `bytes` is how much was recorded of all files that had this path."""
    losses: list[Loss] = []
    warnings: list[str] = []
    pending_bytes: int = 0
    """What was recorded, but still on the node's disk when this was written."""


def read_marker(data: bytes, what: str) -> SessionMarker:
    """Raises `DataError`; an empty document is an empty marker."""
    return _read(data, SessionMarker, what)


def read_manifest(data: bytes, what: str) -> NodeManifest:
    """Raises `DataError`."""
    return _read(data, NodeManifest, what)


def _read(data: bytes, kind: type[_T], what: str) -> _T:
    if not data.strip():
        return kind()
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"{what}: {error}") from error
