"""From the spool into every sink: oldest first, several at a time, until each sink says it is durable.

One object that is refused does not hold up the others: it is tried again later by itself.  If nothing gets
through any more, the sink is taken to be down, and one object at a time is tried with growing pauses.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec

from rayhist.clock import Clock
from rayhist.errors import Denied, RayhistError, Unavailable
from rayhist.sink import Sink
from rayhist_collector.backoff import Backoff
from rayhist_collector.metrics import Metrics
from rayhist_collector.spool import Entry, Spool
from rayhist_collector.waiting import signal_or_time

_AT_ONCE = 4
_AT_ONCE_IN_A_HURRY = 8
_FAILURES_TO_CLOSE = 3
_DENIED_DELAY_S = 300.0
_MIN_TIMEOUT_S = 60.0
_SLOWEST_BYTES_PER_S = 128 << 10


class _Pending(msgspec.Struct):
    key: str
    order: int
    backoff: Backoff
    due: float = 0.0
    taken: bool = False
    again: bool = False
    """Written anew while it was being sent."""
    identity: tuple[int, int] = (0, 0)
    delivered: set[str] = set()
    """The sinks that have the file of that identity."""


class Shipper:
    """Works on the event loop; what touches the disk runs on threads."""

    def __init__(
        self, spool: Spool, sinks: Mapping[str, Sink], clock: Clock, metrics: Metrics, log: Any
    ) -> None:
        self._spool = spool
        self._sinks = sinks
        self._clock = clock
        self._metrics = metrics
        self._log = log
        self._pending: dict[str, _Pending] = {}
        self._orders = itertools.count()
        self._active = 0
        self._wake = asyncio.Event()
        self._gate = Backoff(first_s=1.0, most_s=30.0)
        self._gate_opens = 0.0
        self.problem = ""
        """What keeps files from being sent, for the manifest; empty when all is well."""

    def offer(self, keys: Iterable[str]) -> None:
        """Say that these keys were sealed."""
        for key in keys:
            known = self._pending.get(key)
            if known is None:
                self._pending[key] = _Pending(key, next(self._orders), Backoff(first_s=2.0, most_s=120.0))
            else:
                known.again = known.taken
        self._wake.set()

    @property
    def waiting(self) -> int:
        """How many files are not in every sink yet."""
        return len(self._pending)

    async def run(self) -> None:
        """Send until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                self._wake.clear()
                now = self._clock.monotonic()
                while self._active < _AT_ONCE and (chosen := self._choose(now)):
                    chosen.taken = True
                    self._active += 1
                    group.create_task(self._ship(chosen))
                await self._sleep(now)

    async def drain(self, keys: Collection[str] | None = None) -> None:
        """Try everything, or these keys, once and in a hurry; what fails stays.

        Called after `run` ended; bound it from outside.
        """
        chosen = [one for one in self._pending.values() if keys is None or one.key in keys]
        queue = iter(sorted(chosen, key=lambda one: one.order))

        async def work() -> None:
            for pending in queue:
                await self._attempt(pending)

        async with asyncio.TaskGroup() as group:
            for _ in range(_AT_ONCE_IN_A_HURRY):
                group.create_task(work())

    async def _ship(self, pending: _Pending) -> None:
        try:
            await self._attempt(pending)
        finally:
            pending.taken = False
            self._active -= 1
            self._wake.set()

    def _choose(self, now: float) -> _Pending | None:
        free = [one for one in self._pending.values() if not one.taken]
        if self._closed:
            # One at a time; the least tried first, so that a single bad object cannot keep the gate closed.
            if self._active or now < self._gate_opens:
                return None
            return min(free, key=lambda one: (one.backoff.failures, one.order), default=None)
        return min((one for one in free if one.due <= now), key=lambda one: one.order, default=None)

    async def _sleep(self, now: float) -> None:
        """Until something is offered, ends, or falls due."""
        times = [self._gate_opens] if self._closed else [one.due for one in self._pending.values()]
        delay = min((time - now for time in times if time > now), default=None)
        await signal_or_time(self._wake, self._clock, delay)

    @property
    def _closed(self) -> bool:
        return self._gate.failures >= _FAILURES_TO_CLOSE

    async def _attempt(self, pending: _Pending) -> None:
        entry = await asyncio.to_thread(self._spool.look, pending.key)
        if entry is None:
            self._pending.pop(pending.key, None)
            return
        if entry.identity != pending.identity:
            pending.identity, pending.delivered = entry.identity, set()
        try:
            async with asyncio.timeout(_MIN_TIMEOUT_S + entry.sealed.size / _SLOWEST_BYTES_PER_S):
                for name in self._sinks.keys() - pending.delivered:
                    await self._sinks[name].deliver(entry.sealed)
                    pending.delivered.add(name)
        except (RayhistError, OSError, TimeoutError) as error:
            self._failed(pending, error)
        except Exception as error:  # noqa: BLE001 - a sink's own mistake must not stop the others
            self._log.exception("a sink failed unexpectedly", key=pending.key)
            self._failed(pending, error)
        else:
            await self._succeeded(pending, entry)

    async def _succeeded(self, pending: _Pending, entry: Entry) -> None:
        self._metrics.uploaded(entry.sealed.size, self._clock.time_ms())
        if self._closed:
            self._log.info("the archive takes files again", waiting=len(self._pending))
            for other in self._pending.values():
                other.due = 0.0
        self._gate.succeeded()
        self.problem = ""
        forgotten = await asyncio.to_thread(self._spool.forget, entry)
        if forgotten and not pending.again:
            self._pending.pop(pending.key, None)
        pending.again = False

    def _failed(self, pending: _Pending, error: Exception) -> None:
        retry_after_s = error.retry_after_s if isinstance(error, Unavailable) else None
        text = str(error) or type(error).__name__
        self._metrics.upload_failed(type(error).__name__)
        now = self._clock.monotonic()
        delay = pending.backoff.failed(retry_after_s)
        pending.due = now + (max(delay, _DENIED_DELAY_S) if isinstance(error, Denied) else delay)
        was_closed = self._closed
        self._gate_opens = now + self._gate.failed(retry_after_s)
        if self._closed and not was_closed:
            remedy = error.remedy if isinstance(error, RayhistError) else None
            self._log.error(
                "the archive takes nothing; files wait on this node's disk",
                error=text,
                kind=type(error).__name__,
                remedy=remedy,
            )
        elif not self._closed:
            self._log.warning("an upload failed", key=pending.key, error=text, again_in_s=round(delay, 1))
        self.problem = f"uploads fail: {text}"
