"""Which session is the current one, and beside which kind of node we stand."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from rayhist.clock import Clock
from rayhist.config import Collector
from rayhist_collector import ask_head, sessions
from rayhist_collector.identity import Identity

_PATIENCE_S = 30.0
_ASK_INTERVAL_S = 300.0


class Watch:
    """Runs on the event loop; what touches the disk or the network runs on threads."""

    def __init__(self, temp_dir: Path, config: Collector, identity: Identity, clock: Clock, log: Any) -> None:
        self._temp_dir = temp_dir
        self._head = config.head_address
        self._ip = config.node_ip
        self._identity = identity
        self._clock = clock
        self._log = log
        self._asked = float("-inf")
        self.current = ""
        """The current session's name, `""` while there is none."""
        self.since = clock.monotonic()
        """Since when it is the current one, by the monotonic clock."""
        self.role: str = "" if config.role == "auto" else config.role
        """`head` or `worker`; `""` while unknown."""
        self.has_role = asyncio.Event()
        if self.role:
            self.has_role.set()
        self._node = ""
        self._said_waiting = False

    async def look(self) -> str | None:
        """Find out where we are.  Returns the session that was the current one before, if that changed."""
        await asyncio.to_thread(self._identity.refresh)
        current = self._identity.current
        if current and not self.role:
            await self._learn_role(current)
        node = self._identity.node(current)
        if current == self.current:
            if not current:
                self._say_waiting()
            elif not node:
                await self._ask_head(current)
            elif node != self._node:
                self._log.info("this node's id is known", session=current, node=node)
            self._node = node
            return None
        self._node = node
        previous, self.current = self.current, current
        self.since = self._clock.monotonic()
        self._log.info("found a session", session=current, node=node or "not known yet")
        return previous

    def _say_waiting(self) -> None:
        if not self._said_waiting:
            self._said_waiting = True
            self._log.info("waiting for Ray: there is no session yet", temp_dir=str(self._temp_dir))

    async def _learn_role(self, session: str) -> None:
        folders = await asyncio.to_thread(sessions.folders, self._temp_dir)
        for folder in folders:
            if folder.name == session:
                self.role = await asyncio.to_thread(sessions.role, folder)
        if self.role:
            self._log.info("this node's role is known", role=self.role)
            self.has_role.set()

    async def _ask_head(self, session: str) -> None:
        """If nothing on this node tells its id, the head may know; not asked again for a while."""
        now = self._clock.monotonic()
        if now - self.since < _PATIENCE_S or now - self._asked < _ASK_INTERVAL_S:
            return
        self._asked = now
        address = self._head or await asyncio.to_thread(ask_head.address, self._temp_dir)
        node = await asyncio.to_thread(ask_head.node_id, address, self._ip) if address else ""
        if node:
            self._identity.heard(session, node, self._clock.time_ms())
        self._log.warning("nothing here tells this node's id; asked the head", address=address, node=node)
