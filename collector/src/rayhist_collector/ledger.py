"""What was recorded and what was lost, per session and node: the content of the node manifests.

It is written to the spool's state, so that a restarted collector goes on counting.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from rayhist.clock import Clock
from rayhist.errors import BadIdentifier
from rayhist.ids import session_name
from rayhist.logpack import PackWriter
from rayhist.manifest import Loss, NodeManifest, Stored
from rayhist_collector.spool import Spool, recent_files

_MAX_TYPES = 200
_OTHER_TYPES = "OTHER"
_MAX_LOSSES = 1000


class LogRecord(msgspec.Struct):
    """One log file: the path it has now, how much of it was recorded, and when."""

    path: str
    stored: Stored


class Account(msgspec.Struct):
    """What one node recorded in one session."""

    session: str
    node: str
    events: dict[str, Stored] = {}
    logs: dict[str, LogRecord] = {}
    losses: list[Loss] = []
    first_ms: int = 0
    ip: str = ""

    def manifest(self) -> NodeManifest:
        """The part of the manifest that is known from counting."""
        logs: dict[str, Stored] = {}
        for record in self.logs.values():
            _add(logs.setdefault(record.path, Stored()), record.stored)
        return NodeManifest(
            node_id=self.node,
            ip=self.ip,
            start_ms=self.first_ms,
            events=self.events,
            logs=logs,
            losses=self.losses,
        )


class Ledger:
    """Counts on the event loop's thread only.  A session's node is `""` until it is known."""

    def __init__(self, spool: Spool, clock: Clock) -> None:
        self._folder = spool.state("ledger")
        self._clock = clock
        self._accounts: dict[tuple[str, str], Account] = {}
        self._changed: set[tuple[str, str]] = set()

    def load(self) -> None:
        """Read what an earlier run counted.  Blocks."""
        for path in recent_files(self._folder):
            account = _read(path)
            if account is not None:
                self._accounts[account.session, account.node] = account

    def changes(self) -> list[tuple[Path, bytes]]:
        """The state files that are to be written since this was last asked."""
        changed, self._changed = self._changed, set()
        return [
            (self._folder / f"{session}~{node}.json", msgspec.json.encode(self._accounts[session, node]))
            for session, node in sorted(changed)
        ]

    def accounts(self) -> list[Account]:
        """Those of the sessions whose node is known, with what was counted before it was."""
        for session, node in [key for key in self._accounts if key[1]]:
            early = self._accounts.pop((session, ""), None)
            if early is not None:
                self._accounts[session, node].losses.extend(early.losses)
                (self._folder / f"{session}~.json").unlink(missing_ok=True)
                self._changed.discard((session, ""))
                self._changed.add((session, node))
        return [account for (_, node), account in sorted(self._accounts.items()) if node]

    def touch(self, session: str, node: str) -> Account:
        """The account of a node, opened if there is none yet."""
        key = (session, node)
        if key not in self._accounts:
            self._accounts[key] = Account(session, node, first_ms=self._clock.time_ms())
            self._changed.add(key)
        return self._accounts[key]

    def add_events(self, session: str, node: str, tally: dict[str, Stored]) -> None:
        account = self.touch(session, node)
        for event_type, stored in tally.items():
            name = event_type if event_type in account.events or len(account.events) < _MAX_TYPES else ""
            _add(account.events.setdefault(name or _OTHER_TYPES, Stored()), stored)
        self._changed.add((session, node))

    def add_logs(self, session: str, node: str, pack: PackWriter) -> None:
        """Count a sealed pack: how far each of its files is recorded, and what it is called now."""
        account = self.touch(session, node)
        now = self._clock.time_ms()
        for file in pack.files:
            record = account.logs.setdefault(file.id, LogRecord(file.path, Stored(count=1, first_ms=now)))
            record.path = file.path
            if file.id in pack.ends:
                record.stored.bytes = pack.ends[file.id]
                record.stored.last_ms = now
        self._changed.add((session, node))

    def add_log_file(self, session: str, node: str, path: str, size: int) -> None:
        account = self.touch(session, node)
        now = self._clock.time_ms()
        record = account.logs.setdefault(path, LogRecord(path, Stored(count=1, first_ms=now)))
        record.stored.bytes = size
        record.stored.last_ms = now
        self._changed.add((session, node))

    def lost(self, session: str, node: str, what: str, reason: str, count: int) -> None:
        """Count something more that was lost."""
        loss = self._loss(session, node, what, reason)
        loss.count += count
        loss.last_ms = self._clock.time_ms()

    def lost_so_far(self, session: str, node: str, what: str, reason: str, count: int) -> None:
        """Take over a count that somebody else keeps."""
        loss = self._loss(session, node, what, reason)
        if count > loss.count:
            loss.count = count
            loss.last_ms = self._clock.time_ms()

    def _loss(self, session: str, node: str, what: str, reason: str) -> Loss:
        losses = self.touch(session, node).losses
        self._changed.add((session, node))
        for loss in losses:
            if (loss.what, loss.reason) == (what, reason):
                return loss
        made = Loss(what, reason, first_ms=self._clock.time_ms())
        if len(losses) < _MAX_LOSSES:
            losses.append(made)
        return made


def _add(total: Stored, more: Stored) -> None:
    total.count += more.count
    total.bytes += more.bytes
    total.first_ms = min(total.first_ms or more.first_ms, more.first_ms)
    total.last_ms = max(total.last_ms, more.last_ms)


def _read(path: Path) -> Account | None:
    """An account that cannot be read is counted anew; nothing recorded depends on it."""
    try:
        account = msgspec.json.decode(path.read_bytes(), type=Account)
        session_name(account.session)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, BadIdentifier):
        return None
    return account
