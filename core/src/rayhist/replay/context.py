"""What the folds may know of the session besides their events."""

from __future__ import annotations

from typing import Any

import msgspec

from rayhist.ids import Session
from rayhist.manifest import NodeManifest, SessionMarker
from rayhist.replay.answers import Answers
from rayhist.replay.exports import Exports


class End(msgspec.Struct, frozen=True):
    """How the session ended.  `ended` is false while its collector is still heard of.

    `at_ms` is the end, or the last sign of life of a session that was lost; epoch milliseconds, UTC.
    """

    ended: bool
    at_ms: int
    reason: str
    """A sentence for the user."""


class Context(msgspec.Struct):
    """Facts about the session that several folds need; earlier folds fill the last ones for later folds."""

    session: Session
    marker: SessionMarker
    manifests: dict[str, NodeManifest]
    answers: Answers
    end: End
    job_end_ms: dict[str, int] = {}
    """Job id → when its driver finished; filled by the job fold."""
    recorded_nodes: list[str] = []
    """Every node that has objects in the archive."""
    node_states: dict[str, dict[str, Any]] = {}
    """Node id → the node's row of `/api/v0/nodes`; filled by the node fold."""
    workers: dict[str, dict[str, Any]] = {}
    """Worker id → the worker's row of `/api/v0/workers`; filled by the worker fold."""
    exports: Exports = msgspec.field(default_factory=Exports)
    """What Ray's export files said; read before the folds write."""
    problems: list[str] = []
    """What could not be believed, in sentences; part of the report."""
