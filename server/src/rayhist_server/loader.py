"""Opening sessions: find an index or build one, once however many ask, and hold a bounded number open.

A session that may still be written to is looked at again every refresh interval; while it is replayed anew
the old index serves.  A failure is not kept: whoever asks next tries again.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import structlog

from rayhist.clock import Clock
from rayhist.errors import NotFound, RayhistError, Unavailable
from rayhist.ids import Session
from rayhist.replay import Progress
from rayhist.storage import Store
from rayhist_server.builder import Builder, Wanted
from rayhist_server.cache import Lease
from rayhist_server.view import View

_SETTLED_S = 3600.0
"""After an end, latecomers' uploads are looked for during this time."""


class Loading(Unavailable):
    """The session is being replayed; `progress` says how far that is."""

    def __init__(self, session: Session, progress: Progress) -> None:
        super().__init__(f"{session.path} is being replayed: {describe(progress)}", retry_after_s=1)
        self.session = session
        self.progress = progress


def describe(progress: Progress) -> str:
    """The progress in words."""
    if not progress.total_bytes or progress.step != "reading events":
        return progress.step
    share = 100 * progress.bytes // progress.total_bytes
    return f"{share} % of {progress.total_bytes:,} bytes read, {progress.events:,} events"


class _Opened:
    """A view in use: it is closed when nobody uses it and it was put away."""

    def __init__(self, view: View, lease: Lease, checked: float) -> None:
        self.view = view
        self.checked = checked
        self.users = 0
        self.put_away = False
        self._lease = lease

    @property
    def closed(self) -> bool:
        return self.put_away and not self.users

    def close_if_unused(self) -> None:
        if self.closed:
            self.view.index.close()
            self._lease.close()


class _Flight(msgspec.Struct):
    """A load on its way, and how far it is."""

    task: asyncio.Task[_Opened]
    progress: Progress


class Loader:
    """Opens sessions of one archive.  Used on one event loop."""

    def __init__(
        self,
        store: Store,
        builder: Builder,
        clock: Clock,
        *,
        open_sessions: int,
        refresh_interval_s: float,
        conclude: bool = True,
    ) -> None:
        """Without `conclude` what went on at a session's end is shown as it was last seen."""
        self._store = store
        self._builder = builder
        self._clock = clock
        self._open_sessions = open_sessions
        self._refresh_interval_s = refresh_interval_s
        self._conclude = conclude
        self._opened: OrderedDict[str, _Opened] = OrderedDict()
        self._flights: dict[str, _Flight] = {}
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger("rayhist.loader")

    @property
    def open_count(self) -> int:
        return len(self._opened)

    @property
    def loading_count(self) -> int:
        return len(self._flights)

    @asynccontextmanager
    async def use(self, session: Session, wait_s: float) -> AsyncIterator[View]:
        """Yield the session's view, which stays open during the block.

        Raises `Loading` after `wait_s`, `NotFound`, `DataError`, and what the store raises.
        """
        opened = await self._find(session, wait_s)
        opened.users += 1
        try:
            yield opened.view
        finally:
            opened.users -= 1
            opened.close_if_unused()

    def distrust(self, view: View) -> None:
        """The view's index turned out to be damaged: set the file aside, so that it is built anew."""
        self._log.error("index_damaged", session=view.session.path, file=str(view.index.path))
        self._builder.cache.set_aside(view.index.path)
        opened = self._opened.get(view.session.path)
        if opened is not None and opened.view is view:
            self._put_away(self._opened.pop(view.session.path))

    async def close(self) -> None:
        """Stop what is on its way and let go of everything."""
        tasks = [flight.task for flight in self._flights.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        while self._opened:
            self._put_away(self._opened.popitem()[1])

    async def _find(self, session: Session, wait_s: float) -> _Opened:
        while True:
            opened = self._opened.get(session.path)
            if opened is None:
                opened = await self._arrival(session, wait_s)
            elif self._due(opened):
                self._start(session, opened)
            if not opened.closed:  # between its arrival and now it may have been put away
                self._opened.move_to_end(session.path)
                return opened

    async def _arrival(self, session: Session, wait_s: float) -> _Opened:
        flight = self._flights.get(session.path) or self._start(session, None)
        done, _ = await asyncio.wait({flight.task}, timeout=wait_s)
        if not done:
            raise Loading(session, flight.progress)
        return flight.task.result()

    def _start(self, session: Session, current: _Opened | None) -> _Flight:
        """Begin to load; with `current`, that one goes on serving if loading fails."""
        if session.path in self._flights:
            return self._flights[session.path]
        progress = Progress()
        task = asyncio.create_task(self._load(session, current, progress), name=f"load {session.path}")
        flight = _Flight(task, progress)
        self._flights[session.path] = flight
        task.add_done_callback(lambda done: self._landed(session, done))
        return flight

    def _landed(self, session: Session, task: asyncio.Task[_Opened]) -> None:
        del self._flights[session.path]
        if task.cancelled():
            return
        error = task.exception()
        if isinstance(error, NotFound) and session.path in self._opened:
            self._put_away(self._opened.pop(session.path))  # it was deleted from the archive
        if isinstance(error, RayhistError):
            self._log.warning("load_failed", session=session.path, error=str(error), remedy=error.remedy)
        elif error is not None:
            self._log.error("load_failed", session=session.path, exc_info=error)

    async def _load(self, session: Session, current: _Opened | None, progress: Progress) -> _Opened:
        if current is not None:
            current.checked = (
                self._clock.monotonic()
            )  # also when it fails: then the next interval tries again
        known = current.view.state if current is not None else None
        found = await self._builder.open(Wanted(session, self._conclude), progress, known)
        if found is None:
            assert current is not None
            return current
        index, lease, state = found
        opened = _Opened(View(session, index, self._store, state), lease, self._clock.monotonic())
        replaced = self._opened.pop(session.path, None)
        if replaced is not None:
            self._put_away(replaced)
        self._opened[session.path] = opened
        while len(self._opened) > self._open_sessions:
            self._put_away(self._opened.popitem(last=False)[1])
        return opened

    def _due(self, opened: _Opened) -> bool:
        """Whether more may have arrived since the session was last looked at."""
        now_ms = self._clock.time_ms()
        settled = opened.view.end.ended and now_ms - opened.view.end.at_ms > _SETTLED_S * 1000
        return not settled and self._clock.monotonic() - opened.checked >= self._refresh_interval_s

    @staticmethod
    def _put_away(opened: _Opened) -> None:
        opened.put_away = True
        opened.close_if_unused()
