"""From a session to its index: out of the disk cache if it is there, else by replay."""

from __future__ import annotations

import asyncio
import errno

import msgspec
import structlog

from rayhist import replay
from rayhist.clock import Clock
from rayhist.errors import DataError, Unavailable
from rayhist.ids import Session
from rayhist.index import Index
from rayhist.manifest import SessionMarker
from rayhist.replay import Progress
from rayhist.replay.build import Report
from rayhist.replay.context import End
from rayhist.replay.ending import overdue
from rayhist.replay.inventory import Inventory, take
from rayhist.storage import Store
from rayhist_server.cache import Build, IndexCache, Lease
from rayhist_server.metrics import Metrics

Found = tuple[Index, Lease, str]
"""An opened index, the lease on its file, and the state of the session that it shows."""


class Wanted(msgspec.Struct, frozen=True):
    """Which session, and in which of its two views.

    Without `conclude` it shows what went on at the session's end as it was last seen.
    """

    session: Session
    conclude: bool = True

    @property
    def name(self) -> str:
        """What the cache calls it."""
        return self.session.path if self.conclude else f"{self.session.path} as last known"

    def state(self, digest: str, *, ended: bool) -> str:
        """Names the index of these inputs."""
        return f"{digest}-{'ended' if ended else 'running'}{'' if self.conclude else '-last-known'}"


class Builder:
    """Finds or builds indexes; at most `workers` replays run at once."""

    def __init__(
        self,
        store: Store,
        cache: IndexCache,
        clock: Clock,
        metrics: Metrics,
        *,
        workers: int,
        lost_after_s: float,
        max_bytes: int,
    ) -> None:
        self.cache = cache
        self._store = store
        self._clock = clock
        self._metrics = metrics
        self._lost_after_s = lost_after_s
        self._max_bytes = max_bytes
        self._slots = asyncio.Semaphore(workers)
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger("rayhist.replay")

    async def open(self, wanted: Wanted, progress: Progress, known: str | None) -> Found | None:
        """Return the index of the session as it is now; `None` if that is still the state `known`.

        Raises `NotFound`, `DataError` if nothing of the session can be read, and what the store raises.
        """
        inventory = await take(self._store, wanted.session)
        cached = await asyncio.to_thread(self._cached, wanted, inventory.digest())
        if cached is not None:
            if cached[2] != known:
                return cached
            _close(cached)
            return None
        progress.step = "waiting for other replays"
        async with self._slots:
            with self._metrics.replay():
                return await self._replay(wanted, inventory, progress)

    def _cached(self, wanted: Wanted, digest: str) -> Found | None:
        """An index of these inputs, unless it calls a session running that counts as lost by now."""
        for ended in (True, False):
            state = wanted.state(digest, ended=ended)
            lease = self.cache.lease(wanted.name, state)
            if lease is None:
                continue
            found = self._opened(lease, state)
            if found is not None and (ended or not self._overdue(found[0])):
                return found
            if found is not None:
                _close(found)
        return None

    def _opened(self, lease: Lease, state: str) -> Found | None:
        try:
            index = Index(lease.path)
        except DataError as error:
            self._log.warning("cached_index_damaged", error=str(error))
            self.cache.set_aside(lease.path)
            lease.close()
            return None
        return index, lease, state

    def _overdue(self, index: Index) -> bool:
        end = msgspec.convert(index.meta("end"), End)
        marker = msgspec.convert(index.meta("session"), SessionMarker)
        return not end.ended and overdue(end.at_ms, marker, self._clock.time_ms(), self._lost_after_s)

    async def _replay(self, wanted: Wanted, inventory: Inventory, progress: Progress) -> Found:
        started = self._clock.monotonic()
        try:
            build = await asyncio.to_thread(self.cache.start)
        except OSError as error:
            raise self._no_room(error) from error
        try:
            report = await self._written(wanted, inventory, progress, build)
            index, lease, state = await asyncio.to_thread(self._published, wanted, build, report)
        except BaseException:
            await asyncio.to_thread(build.abandon)
            raise
        size = lease.path.stat().st_size
        seconds = round(self._clock.monotonic() - started, 3)
        self._log.info(
            "replayed",
            session=wanted.name,
            events=report.events,
            damaged=len(report.damaged),
            index_bytes=size,
            seconds=seconds,
        )
        if size > self._max_bytes:
            self._log.warning(
                "session_larger_than_cache", session=wanted.name, index_bytes=size, max_bytes=self._max_bytes
            )
        return index, lease, state

    async def _written(
        self, wanted: Wanted, inventory: Inventory, progress: Progress, build: Build
    ) -> Report:
        report = await replay.replay(
            self._store,
            wanted.session,
            build.path,
            inventory=inventory,
            progress=progress,
            clock=self._clock,
            lost_after_s=self._lost_after_s,
            conclude=wanted.conclude,
        )
        _believe(report, inventory)
        return report

    def _published(self, wanted: Wanted, build: Build, report: Report) -> Found:
        index = Index(build.path)
        ended = msgspec.convert(index.meta("end"), End).ended
        index.close()
        state = wanted.state(report.digest, ended=ended)
        lease = build.publish(wanted.name, state)
        return Index(lease.path), lease, state

    def _no_room(self, error: OSError) -> Unavailable:
        full = error.errno == errno.ENOSPC
        return Unavailable(
            f"the cache folder {self.cache.folder} cannot be written: {error}",
            remedy="free some space there, or set [cache] path and max_bytes" if full else "set [cache] path",
        )


def _close(found: Found) -> None:
    index, lease, _ = found
    index.close()
    lease.close()


def _believe(report: Report, inventory: Inventory) -> None:
    """Raise `DataError` if there were events and answers and not one object of them could be read."""
    items = (*inventory.events, *inventory.endpoints, *inventory.snapshots)
    readable = [item for item in items if item.info.key not in report.damaged]
    if items and not readable and not report.events and not inventory.log_packs and not inventory.log_files:
        key, reason = next(iter(report.damaged.items()))
        raise DataError(
            f"none of the {len(items)} recorded objects of {inventory.session.path} can be read;"
            f" the first is {key}: {reason}",
            remedy="look at these objects in the archive; if they were damaged on their way, copy them again",
        )
