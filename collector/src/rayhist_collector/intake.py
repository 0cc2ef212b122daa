"""Where the sources put what they have: the spool behind the `Intake` that plugins see."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from rayhist import layout
from rayhist.clock import Clock
from rayhist.errors import BadIdentifier, DataError, Unavailable
from rayhist.ids import Cluster, Session
from rayhist.layout import LogFile, LogPack
from rayhist.logpack import PackWriter
from rayhist.redaction import Redactor
from rayhist.source import Answer, Intake
from rayhist_collector import event_intake
from rayhist_collector.answers import AnswerFiles
from rayhist_collector.event_files import Finished
from rayhist_collector.event_intake import EventIntake, Outcome
from rayhist_collector.facts import Facts
from rayhist_collector.identity import Identity
from rayhist_collector.ledger import Ledger
from rayhist_collector.metrics import Metrics
from rayhist_collector.reporting import say
from rayhist_collector.spool import Spool
from rayhist_collector.waiting import signal_or_time

_T = TypeVar("_T")


class SpoolIntake(Intake):
    """Everything a source hands over is on local disk when the call returns; `offer` hears of sealed keys."""

    def __init__(
        self,
        *,
        spool: Spool,
        cluster: Cluster,
        clock: Clock,
        identity: Identity,
        ledger: Ledger,
        metrics: Metrics,
        log: Any,
        offer: Callable[[Iterable[str]], None],
        redactor: Redactor | None = None,
    ) -> None:
        self._spool = spool
        self._cluster = cluster
        self._clock = clock
        self._identity = identity
        self._ledger = ledger
        self._metrics = metrics
        self._log = log
        self._offer = offer
        self._events = EventIntake(spool, clock, redactor)
        self._answers = AnswerFiles(spool, cluster, clock, redactor)
        self._event_thread = ThreadPoolExecutor(1, "events")
        self._answer_thread = ThreadPoolExecutor(1, "answers")
        self._packs = itertools.count()
        self._parked: list[Finished] = []
        self._seal_now = asyncio.Event()
        self._sealing = asyncio.Lock()
        self._finished = False
        self.facts: dict[str, Facts] = {}
        self.event_times: dict[str, int] = {}
        """Session → when an event of it last came, epoch ms."""
        self.answer_times: dict[str, int] = {}

    async def recover(self) -> None:
        """Take over what the last run left behind."""
        for path in self._spool.open.glob("pack~*"):
            path.unlink()  # never sealed, so its ranges were not counted as recorded and come again
        await self._on(self._event_thread, self._events.recover)
        self._offer(await self._on(self._answer_thread, self._answers.recover))

    def close(self) -> None:
        self._event_thread.shutdown(wait=True)
        self._answer_thread.shutdown(wait=True)

    def node(self, session: str) -> str:
        return self._identity.node(session)

    def metrics(self) -> bytes:
        return self._metrics.exposition()

    async def events(self, lines: Iterable[bytes]) -> int:
        outcome = await self._on(self._event_thread, lambda: self._events.store(lines))
        self._account(outcome)
        if self._events.has_finished:
            self._seal_now.set()
        return outcome.stored

    def _account(self, outcome: Outcome) -> None:
        now = self._clock.time_ms()
        for session, node in outcome.nodes.items():
            self._identity.heard(session, node, now)
            self.event_times[session] = now
        self._metrics.events(received=outcome.received, stored=outcome.stored, duplicates=outcome.duplicates)
        for reason, count in outcome.quarantined.items():
            self._metrics.quarantined(reason, count)
            self.lost("events", reason=f"quarantined: {reason}", count=count)

    async def answers(self, session: str, answers: Iterable[Answer]) -> None:
        taken = await self._on(self._answer_thread, lambda: self._answers.add(session, answers))
        self.answer_times[session] = self._clock.time_ms()
        self._metrics.answered(len(taken))
        for answer in taken:
            self.facts.setdefault(session, Facts()).learn(answer)

    @asynccontextmanager
    async def log_pack(self, session: str) -> AsyncIterator[PackWriter]:
        node = self._known(session)
        first_ms, sequence = self._clock.time_ms(), next(self._packs)
        path = self._spool.open / f"pack~{first_ms}~{sequence}.zip"
        pack = await self._disk(lambda: PackWriter(path))
        try:
            yield pack
            await self._disk(pack.close)
            if not pack.empty:
                key = layout.key(LogPack(Session(self._cluster, session), node, first_ms, sequence))
                await self._disk(lambda: self._spool.seal(key, path))
                self._ledger.add_logs(session, node, pack)
                self._metrics.packed(pack.bytes_added)
                self._offer([key])
        finally:
            await self._disk(lambda: _discard(pack, path))

    async def log_file(self, session: str, path: str, data: bytes) -> None:
        node = self._known(session)
        await self.file(layout.key(LogFile(Session(self._cluster, session), node, path)), data)
        self._ledger.add_log_file(session, node, path, len(data))

    def _known(self, session: str) -> str:
        node = self._identity.node(session)
        if not node:
            raise DataError(f"no node id is known yet for {session}")
        return node

    async def file(self, key: str, data: bytes) -> None:
        layout.parse(key)
        await self._disk(lambda: self._spool.seal_bytes(key, data))
        self._offer([key])

    def lost(self, what: str, *, reason: str, count: int = 1, session: str = "") -> None:
        self._metrics.lost(what, count)
        whose = session or self._identity.current
        if whose:
            self._ledger.lost(whose, self._identity.node(whose), what, reason, count)

    async def run(self, event_interval_s: float) -> None:
        """Seal and publish until `finish`: each interval, and events as soon as a file is full."""
        sealed = published = self._clock.monotonic()
        while not self._finished:
            # At most a second, so that intervals are kept to the second.
            await signal_or_time(self._seal_now, self._clock, min(event_interval_s, 1.0))
            self._seal_now.clear()
            now = self._clock.monotonic()
            due, publish = (
                now - sealed >= event_interval_s,
                now - published >= self._answers.publish_interval_s,
            )
            sealed = now if due else sealed
            published = now if publish else published
            try:
                await self._seal_all(events=due, snapshots=due, endpoints=publish)
            except Unavailable as error:
                say(self._log, "the spool cannot be written", error)
            except Exception:  # noqa: BLE001 - a mistake of ours must not end the recording
                self._log.exception("sealing failed")

    async def finish(self) -> None:
        """End `run`, and seal and publish everything.  Raises `Unavailable`."""
        self._finished = True
        self._seal_now.set()
        await self._seal_all(events=True, snapshots=True, endpoints=True)

    async def _seal_all(self, *, events: bool, snapshots: bool, endpoints: bool) -> None:
        """Seal the event files that are due, or all of them; those whose node is unknown wait on disk."""
        async with self._sealing:
            self._parked += await self._on(
                self._event_thread, lambda: self._events.finished(everything=events)
            )
            for file in list(self._parked):
                if await self._seal(file):
                    self._parked.remove(file)
            if snapshots:
                self._offer(await self._on(self._answer_thread, self._answers.seal))
            if endpoints:
                self._offer(await self._on(self._answer_thread, self._answers.publish))

    async def close_session(self, session: str) -> None:
        """Seal and publish what there is of a session that is over."""
        self._offer(await self._on(self._answer_thread, lambda: self._answers.close(session)))

    @property
    def held(self) -> int:
        """How many event files wait for their node's id."""
        return len(self._parked)

    async def _seal(self, file: Finished) -> bool:
        session, node = file.group.session, file.group.node or self._identity.node(file.group.session)
        if not node:
            return False
        try:
            key = layout.key(file.reference(Session(self._cluster, session), node))
        except BadIdentifier:
            return True  # not a file of ours: it stays where it is
        try:
            await self._disk(lambda: event_intake.seal(self._spool, key, file.path))
        except Unavailable as error:
            say(self._log, "events cannot be sealed", error)
            return False
        self._ledger.add_events(session, node, file.tally)
        self._offer([key])
        return True

    async def _on(self, thread: ThreadPoolExecutor, work: Callable[[], _T]) -> _T:
        try:
            return await asyncio.get_running_loop().run_in_executor(thread, work)
        except OSError as error:
            raise _full(error) from error

    async def _disk(self, work: Callable[[], _T]) -> _T:
        try:
            return await asyncio.to_thread(work)
        except OSError as error:
            raise _full(error) from error


def _full(error: OSError) -> Unavailable:
    return Unavailable(
        f"this node's disk does not take it: {error.strerror or error}",
        remedy="make room, or set [collector] spool to another disk",
    )


def _discard(pack: PackWriter, path: Path) -> None:
    pack.close()
    path.unlink(missing_ok=True)
