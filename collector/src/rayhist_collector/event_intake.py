"""From posted events to event files: told apart, checked against what came before, written, sealed.

`store` and what it calls run on one thread of their own, so that batches keep their order and a slow disk
holds up nobody but Ray's exporter, which waits for the answer anyway.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from rayhist.clock import Clock
from rayhist.errors import DataError
from rayhist.redaction import Redactor
from rayhist_collector import envelope, gz
from rayhist_collector.envelope import Group
from rayhist_collector.event_files import Event, EventFiles, Finished, count, left_over
from rayhist_collector.quarantine import Quarantine
from rayhist_collector.recent import RecentIds
from rayhist_collector.spool import Spool


class Outcome(msgspec.Struct):
    """What became of a batch."""

    received: int = 0
    stored: int = 0
    duplicates: int = 0
    quarantined: Counter[str] = msgspec.field(default_factory=Counter)
    """Reason → events."""
    nodes: dict[str, str] = {}
    """Session → the node that reported its last event, `""` if that event names none."""


class EventIntake:
    """Not thread-safe."""

    def __init__(self, spool: Spool, clock: Clock, redactor: Redactor | None = None) -> None:
        self._redact = redactor.events if redactor else _as_they_are
        self._spool = spool
        self._clock = clock
        self._files = EventFiles(spool.open, clock, fsync=spool.fsync)
        self._recent = RecentIds()
        self._quarantine = Quarantine(spool.quarantine)
        self._finished: list[Finished] = []
        self._session = ""

    def recover(self) -> None:
        """Take over what a crash left open, and remember its ids: its last batch may come again."""
        for finished in left_over(self._spool.open):
            self._files.begin_after(finished.created_ns)
            with finished.path.open("rb") as file:
                for line in file:
                    self._recount(finished, line.rstrip(b"\n"))
            self._finished.append(finished)

    def _recount(self, finished: Finished, line: bytes) -> None:
        try:
            filed = envelope.read(line)
        except DataError:
            return
        self._recent.add(filed.event_id)
        event = Event(filed.event_id, filed.event_type, line)
        count(finished.tally, [event], finished.created_ns // 1_000_000)

    def store(self, lines: Iterable[bytes]) -> Outcome:
        """Put the events on local disk.  Raises `OSError`: then they may be sent again as they are."""
        outcome = Outcome()
        groups: dict[Group, list[Event]] = {}
        in_batch: set[str] = set()
        for line in self._redact(list(lines)):
            outcome.received += 1
            try:
                event_id, event_type, group = envelope.read(line)
            except DataError as error:
                self.quarantine(line, str(error))
                outcome.quarantined[str(error)] += 1
                continue
            if event_id and (event_id in in_batch or event_id in self._recent):
                outcome.duplicates += 1
                continue
            in_batch.add(event_id)
            event = Event(event_id, event_type, _one_line(line))
            if group in groups:
                groups[group].append(event)
            else:
                groups[group] = [event]
        self._write(groups, outcome)
        return outcome

    def _write(self, groups: dict[Group, list[Event]], outcome: Outcome) -> None:
        for group, events in groups.items():
            if group.session != self._session:
                self._session = group.session
                self._finished += self._files.others(group.session)
            self._files.append(group, events)
            # Remembered before they are flushed: if that fails, the batch comes again, and flushes them.
            for event in events:
                self._recent.add(event.id)
            outcome.stored += len(events)
            outcome.nodes[group.session] = group.node
        self._files.flush()
        self._finished += self._files.full()

    def quarantine(self, data: bytes, reason: str) -> None:
        self._quarantine.add(data, reason, self._clock.time_ms())

    @property
    def has_finished(self) -> bool:
        return bool(self._finished)

    def finished(self, *, everything: bool) -> list[Finished]:
        """Hand over the files that are to be sealed; those still open only if `everything` is asked for."""
        if everything:
            self._finished += self._files.all()
        taken, self._finished = self._finished, []
        return taken


def seal(spool: Spool, key: str, path: Path) -> None:
    """Compress a finished file and move it to its key.  Safe on any thread; raises `OSError`."""
    with spool.temporary() as temporary:
        gz.compress(path, temporary)
        spool.seal(key, temporary)
    path.unlink()


def _as_they_are(lines: Sequence[bytes]) -> Sequence[bytes]:
    return lines


def _one_line(line: bytes) -> bytes:
    """Ray sends no line breaks; whoever does, gets them taken out of between the tokens."""
    return msgspec.json.format(line, indent=-1) if b"\n" in line or b"\r" in line else line
