"""Says at each heartbeat what is known of the session and of this node: in the archive, and in the log."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec

from rayhist.clock import Clock
from rayhist.config import Collector
from rayhist.errors import Unavailable
from rayhist.manifest import Ending
from rayhist.redaction import Redactor
from rayhist_collector import ray_drops, sessions
from rayhist_collector.chronicle import Chronicle, Document, Life
from rayhist_collector.facts import Facts
from rayhist_collector.identity import Identity
from rayhist_collector.intake import SpoolIntake
from rayhist_collector.ledger import Account, Ledger
from rayhist_collector.reporting import say
from rayhist_collector.sessions import Glimpse
from rayhist_collector.ship import Shipper
from rayhist_collector.spool import Spool
from rayhist_collector.watch import Watch

_LOOK_INTERVAL_S = 1.0
_LEAST_INTERVAL_S = 5.0
_ALIVE_MS = 60_000
"""The raylet rewrites `debug_state.txt` every 10 s, so logs older than this are those of a dead node."""
_SILENCE_S = 60.0
_DROPS_INTERVAL_S = 60.0


class Parts(msgspec.Struct, frozen=True):
    """What a heartbeat reads from and writes to."""

    config: Collector
    temp_dir: Path
    spool: Spool
    intake: SpoolIntake
    identity: Identity
    watch: Watch
    ledger: Ledger
    chronicle: Chronicle
    shipper: Shipper
    clock: Clock
    log: Any
    redactor: Redactor | None = None


class Heartbeat:
    """Runs on the event loop; what touches the disk runs on threads."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._glimpses: dict[str, Glimpse] = {}
        self._glimpses_of_old: dict[str, Glimpse] = {}
        self._known: object = None
        self._warned: set[str] = set()
        self._drops_due = float("-inf")

    async def run(self) -> None:
        """Look every second; say something each heartbeat, and soon when something new is known."""
        clock = self._parts.clock
        last = float("-inf")
        while True:
            try:
                previous = await self._parts.watch.look()
                if previous:
                    await self._parts.intake.close_session(previous)
                elapsed = clock.monotonic() - last
                news = self._knowledge() != self._known and elapsed >= _LEAST_INTERVAL_S
                if previous is not None or news or elapsed >= self._parts.config.heartbeat_interval_s:
                    last = clock.monotonic()
                    await self.beat()
            except (OSError, Unavailable) as error:
                say(self._parts.log, "the spool cannot be written", error)
            except Exception:
                self._parts.log.exception("a heartbeat failed")
            await clock.sleep(_LOOK_INTERVAL_S)

    def _knowledge(self) -> object:
        session = self._parts.watch.current
        facts = self._parts.intake.facts.get(session, Facts())
        return session, self._parts.identity.node(session), self._parts.watch.role, msgspec.json.encode(facts)

    async def beat(self, ending: Ending = Ending.RUNNING) -> list[str]:
        """Write the markers of the current session and of those that are over, and the nodes' manifests.

        Returns the keys of what was written.  Raises `OSError`.
        """
        self._known = self._knowledge()
        current = self._parts.watch.current
        self._glimpses = await asyncio.to_thread(self._look_into_folders, current)
        node = self._parts.identity.node(current)
        if node:
            self._parts.ledger.touch(current, node).ip = self._glimpse(current).ip
            await self._count_drops(current, node)
        accounts = self._parts.ledger.accounts()
        waiting, pending_bytes = await asyncio.to_thread(self._parts.spool.usage)
        warnings = self._warnings(waiting)
        documents = self._markers(accounts, ending)
        for account in accounts:
            life = self._life(account.session, ending)
            document = self._parts.chronicle.manifest(
                account,
                self._glimpse(account.session).role or self._parts.watch.role,
                life,
                warnings=warnings if account.session == current else [],
                pending_bytes=pending_bytes,
            )
            documents += [document] if document else []
        changes = self._parts.ledger.changes()
        await asyncio.to_thread(self._write, documents, changes)
        keys = [document.key for document in documents]
        self._parts.shipper.offer(keys)
        return keys

    async def _count_drops(self, session: str, node: str) -> None:
        """Ask Ray's agent what it dropped, at most once a minute."""
        now = self._parts.clock.monotonic()
        if now < self._drops_due:
            return
        self._drops_due = now + _DROPS_INTERVAL_S
        folder, ip = self._parts.temp_dir / session, self._glimpse(session).ip
        for event_type, count in (await asyncio.to_thread(ray_drops.dropped, folder, node, ip)).items():
            self._parts.ledger.lost_so_far(
                session, node, event_type, "dropped inside Ray: buffer full", count
            )

    def _markers(self, accounts: list[Account], ending: Ending) -> list[Document]:
        """A worker's collector writes none: the session is the head's."""
        names = {account.session for account in accounts} | {self._parts.watch.current}
        return [
            self._parts.chronicle.marker(
                name,
                self._glimpse(name),
                self._parts.intake.facts.get(name, Facts()),
                self._parts.identity.node(name),
                self._life(name, ending),
            )
            for name in sorted(filter(None, names))
            if (self._glimpse(name).role or self._parts.watch.role) == "head"
            and not (name != self._parts.watch.current and self._parts.chronicle.has_ended(name))
        ]

    def _life(self, session: str, ending: Ending) -> Life:
        """A session that is not the current one was replaced at its last sign of life."""
        now = self._parts.clock.time_ms()
        last_ms = max(
            self._glimpse(session).last_sign_ms,
            self._parts.intake.event_times.get(session, 0),
            self._parts.intake.answer_times.get(session, 0),
        )
        if session != self._parts.watch.current:
            return Life(min(last_ms, now) or now, Ending.REPLACED)
        alive = not last_ms or now - last_ms < _ALIVE_MS
        return Life(now if alive else last_ms, ending)

    def _look_into_folders(self, current: str) -> dict[str, Glimpse]:
        """What an old session's folder says does not change any more, so it is looked into once."""
        found = {}
        for folder in sessions.folders(self._parts.temp_dir):
            if folder.name == current:
                found[current] = sessions.glimpse(folder)
                continue
            if folder.name not in self._glimpses_of_old:
                self._glimpses_of_old[folder.name] = sessions.glimpse(folder)
            found[folder.name] = self._glimpses_of_old[folder.name]
        return found

    def _glimpse(self, session: str) -> Glimpse:
        return self._glimpses.get(session, Glimpse())

    def _write(self, documents: list[Document], changes: list[tuple[Path, bytes]]) -> None:
        for document in documents:
            self._parts.spool.seal_bytes(document.key, document.data)
            if document.state:
                self._parts.spool.write(document.state, document.data, flush=False)
        for path, data in changes:
            self._parts.spool.write(path, data, flush=False)

    def _warnings(self, waiting: int) -> list[str]:
        """What the operator should know; each is logged once while it lasts."""
        found = []
        if self._silent():
            found.append(
                "no event has arrived from Ray: was it started with the settings of"
                " `rayhist collect --print-ray-env`?"
            )
        if self._parts.intake.held:
            found.append(f"{self._parts.intake.held} files of events wait until this node's id is known")
        if self._parts.shipper.problem:
            found.append(f"{waiting} files wait on this node's disk: {self._parts.shipper.problem}")
        kinds = {text.partition(":")[0].lstrip("0123456789 ") for text in found}
        for text in found:
            if text.partition(":")[0].lstrip("0123456789 ") not in self._warned:
                self._parts.log.warning(text)
        self._warned = kinds
        return found

    def _silent(self) -> bool:
        """Whether events should have come by now, and none has."""
        session = self._parts.watch.current
        if not session or "ray-events" not in self._parts.config.sources:
            return False
        if self._parts.clock.monotonic() - self._parts.watch.since < _SILENCE_S:
            return False
        recorded = any(one.session == session and one.events for one in self._parts.ledger.accounts())
        expected = self._parts.watch.role == "head" or self._glimpse(session).workers_ran
        return expected and not recorded and session not in self._parts.intake.event_times
