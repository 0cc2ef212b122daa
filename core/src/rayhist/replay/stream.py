"""The events of a session, from the archive to the folds: fetched a few objects ahead, folded on a thread."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from itertools import islice

from rayhist import codec, events, layout
from rayhist.errors import DataError, NotFound
from rayhist.ids import Session
from rayhist.replay.fold import Fold
from rayhist.replay.inventory import Item
from rayhist.replay.report import Progress, Report
from rayhist.replay.tally import Tally
from rayhist.replay.threads import Threads
from rayhist.storage import Store

_READ_AHEAD = 4
_TELL_EVERY = 1024


class EventReader:
    """Gives every event to the fold that wants it; what cannot be read is put into the report."""

    def __init__(
        self, session: Session, folds: Sequence[Fold], report: Report, progress: Progress, threads: Threads
    ) -> None:
        self._own = {session.name, ""}
        self._wanted = {kind: fold for fold in folds for kind in fold.types}
        self._report = report
        self._progress = progress
        self._threads = threads
        self._tally = Tally()

    async def run(self, store: Store, items: Sequence[Item]) -> None:
        """Read event files.

        Raises what the store raises, but for `NotFound`: a file may have been rolled up since it was listed.
        """
        async with contextlib.aclosing(_bodies(store, items, self._report)) as bodies:
            async for item, body in bodies:
                assert isinstance(item.reference, layout.EventFile)
                await self._threads.run(self.read, item.info.key, item.reference.node, body)
                self._progress.bytes += item.info.size

    def read(self, key: str, node: str, body: bytes) -> None:
        """Fold the events of one object, which a node recorded."""
        damage = codec.Damage()
        self._tally = Tally()
        before = self._report.events
        for number, line in enumerate(codec.decode(body, damage)):
            if number % _TELL_EVERY == 0:
                self._progress.events = before + number
                if self._threads.stopped():
                    return
            try:
                self._take(events.decode(line), len(line))
            except DataError as error:
                self._report.bad_events += 1
                self._report.damaged.setdefault(key, str(error))
        self._count(node)
        if damage.reason:
            self._report.damaged[key] = damage.reason

    def _take(self, event: events.Event, size: int) -> None:
        if event.session_name not in self._own:
            self._report.foreign_events += 1
            return
        fold = self._wanted.get(event.event_type)
        if fold is not None:
            fold.add(event)
        self._tally.count(event, size)

    def _count(self, node: str) -> None:
        report = self._report
        for event_type, number in self._tally.counts():
            report.events += number
            report.events_by_type[event_type] = report.events_by_type.get(event_type, 0) + number
        self._tally.add_to(report.recorded.setdefault(node, {}))
        self._progress.events = report.events


async def _bodies(
    store: Store, items: Sequence[Item], report: Report
) -> AsyncGenerator[tuple[Item, bytes], None]:
    """Fetch the objects in order, a few ahead of the reader."""
    waiting: deque[tuple[Item, asyncio.Task[bytes]]] = deque()
    rest = iter(items)
    try:
        while True:
            for item in islice(rest, _READ_AHEAD - len(waiting)):
                waiting.append((item, asyncio.create_task(store.get(item.info.key))))
            if not waiting:
                return
            item, task = waiting.popleft()
            try:
                yield item, await task
            except (DataError, NotFound) as error:
                report.damaged[item.info.key] = str(error)
    finally:
        for _, task in waiting:
            task.cancel()
        await asyncio.gather(*(task for _, task in waiting), return_exceptions=True)
