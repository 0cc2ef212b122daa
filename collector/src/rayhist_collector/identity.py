"""Which node this is, session by session, from what is at hand; the head is asked last and once.

In this order: the configuration (for the current session); the session's own folder, if one raylet wrote
there; else whatever was heard last: the reporting node of an event, or the youngest of several raylets (a
raylet that was restarted within a session, or nodes that share a temp dir).
"""

from __future__ import annotations

from pathlib import Path

from rayhist.errors import ConfigError
from rayhist.ids import IdKind, hex_id
from rayhist_collector import sessions
from rayhist_collector.sessions import NodeEvidence


class Identity:
    """Knows the node of each session.  Raises `ConfigError` for a configured id that is none."""

    def __init__(self, temp_dir: Path, configured: str = "") -> None:
        self._temp_dir = temp_dir
        try:
            self._configured = hex_id(IdKind.NODE, configured) if configured else ""
        except ValueError as error:
            raise ConfigError(f"[collector] node_id: {error}", remedy="leave it empty to learn it") from error
        self._latest = ""
        self._last_heard = ""
        self._files: dict[str, list[NodeEvidence]] = {}
        self._heard: dict[str, NodeEvidence] = {}

    @property
    def current(self) -> str:
        """The current session's name: the folder's, else that of the last event; `""` if there is none."""
        return self._latest or self._last_heard

    def refresh(self) -> None:
        """Look at the folders again.  Blocks."""
        latest = sessions.latest(self._temp_dir)
        self._latest = latest.name if latest else self._latest
        for folder in sessions.folders(self._temp_dir):
            # What an old session's folder says does not change any more.
            if (folder.name == self._latest or folder.name not in self._files) and (
                found := sessions.nodes(folder)
            ):
                self._files[folder.name] = found

    def heard(self, session: str, node: str, now_ms: int) -> None:
        """An event of the session was reported by the node, or the head said that it is ours."""
        self._last_heard = session
        if node:
            self._heard[session] = NodeEvidence(node, now_ms)

    def node(self, session: str) -> str:
        """The node's id in hex, `""` while unknown."""
        if self._configured and session == self.current:
            return self._configured
        files = self._files.get(session, [])
        if len(files) == 1:
            return files[0].node
        evidence = [*files, *([self._heard[session]] if session in self._heard else [])]
        return max(evidence, key=lambda one: one.since_ms).node if evidence else ""
