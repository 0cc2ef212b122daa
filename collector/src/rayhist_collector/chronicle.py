"""The session's marker and the nodes' manifests, composed from what is known.

A marker stands in the archive as soon as the head's collector knows the session, so that a cluster that is
killed at once is listed all the same.  For the event loop's thread; nothing here blocks but `load`.
"""

from __future__ import annotations

import socket
from importlib.metadata import version
from pathlib import Path

import msgspec

from rayhist import layout, manifest
from rayhist.config import Collector
from rayhist.errors import DataError
from rayhist.ids import Cluster, Session
from rayhist.manifest import Ending, SessionMarker
from rayhist_collector.facts import Facts
from rayhist_collector.ledger import Account
from rayhist_collector.local_time import to_utc_ms
from rayhist_collector.sessions import Glimpse
from rayhist_collector.spool import Spool, recent_files

_UNCHANGED_BEATS = 10
"""A manifest of which only the time changed is written every so many heartbeats."""


class Document(msgspec.Struct, frozen=True):
    """What is to be written under a key; `state` is a file of the spool that is to have the same content."""

    key: str
    data: bytes
    state: Path | None = None


class Life(msgspec.Struct, frozen=True):
    """That a session goes on or how it ended, and when it was last seen or ended: epoch ms."""

    seen_ms: int
    ending: Ending = Ending.RUNNING


class Chronicle:
    """Remembers what was last said of each session and node."""

    def __init__(self, spool: Spool, cluster: Cluster, config: Collector) -> None:
        self._cluster = cluster
        self._config = config
        self._folder = spool.state("markers")
        self._version = version("rayhist-collector")
        self._hostname = socket.gethostname()
        self._markers: dict[str, SessionMarker] = {}
        self._manifests: dict[tuple[str, str], tuple[bytes, int]] = {}

    def load(self) -> None:
        """Read what an earlier run said.  Blocks; what cannot be read is found out anew."""
        for path in recent_files(self._folder):
            try:
                self._markers[path.stem] = manifest.read_marker(path.read_bytes(), path.name)
            except (OSError, DataError):
                continue

    def has_ended(self, session: str) -> bool:
        """Whether the session's marker says already that another one followed."""
        return self._markers.get(session, SessionMarker()).ending is Ending.REPLACED

    def marker(self, session: str, glimpse: Glimpse, facts: Facts, head_node: str, life: Life) -> Document:
        """What is known of a session now, and what was known of it before."""
        known = self._markers.get(session, SessionMarker())
        last_seen_ms = max(life.seen_ms, known.last_seen_ms)
        # The head's stated offset is the best evidence of the start; files can be younger than their session.
        start_ms = to_utc_ms(session, offset=facts.offset) or known.start_ms or glimpse.start_ms
        made = SessionMarker(
            cluster_uid=facts.cluster_uid or known.cluster_uid,
            ray_version=facts.ray_version or known.ray_version,
            python_version=facts.python_version or known.python_version,
            collector_version=self._version,
            head_node=head_node or known.head_node,
            start_ms=start_ms or last_seen_ms,
            last_seen_ms=last_seen_ms,
            heartbeat_interval_s=self._config.heartbeat_interval_s,
            end_ms=life.seen_ms if life.ending else 0,
            ending=life.ending,
            timezone=facts.timezone or known.timezone,
            labels=self._config.labels,
            jobs=facts.jobs or known.jobs,
        )
        self._markers[session] = made
        key = layout.key(layout.Marker(Session(self._cluster, session)))
        return Document(key, msgspec.json.encode(made), self._folder / f"{session}.json")

    def manifest(
        self, account: Account, role: str, life: Life, *, warnings: list[str], pending_bytes: int
    ) -> Document | None:
        """What a node recorded, if that changed or was last said long ago."""
        made = account.manifest()
        made.role = role
        made.hostname = self._hostname
        made.warnings = warnings
        made.ending = life.ending
        whose = (account.session, account.node)
        state = msgspec.json.encode(made)
        known, beats = self._manifests.get(whose, (b"", 0))
        if state == known and (life.ending or beats < _UNCHANGED_BEATS):
            self._manifests[whose] = (known, beats + 1)
            return None
        self._manifests[whose] = (state, 0)
        made.last_seen_ms = life.seen_ms
        made.end_ms = life.seen_ms if life.ending else 0
        made.pending_bytes = pending_bytes
        key = layout.key(layout.NodeManifest(Session(self._cluster, account.session), account.node))
        return Document(key, msgspec.json.encode(made))
