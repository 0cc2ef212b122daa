"""A loader to try things on: its archive, its cache and its clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec

from rayhist import layout
from rayhist.clock import Clock
from rayhist.ids import Cluster, ClusterKind, Session
from rayhist.manifest import SessionMarker
from rayhist.storage import Store
from rayhist_server.builder import Builder
from rayhist_server.cache import IndexCache
from rayhist_server.loader import Loader
from rayhist_server.metrics import Metrics
from rayhist_server.view import View
from rayhist_testkit import generator
from rayhist_testkit.faults import WrappedStore

SMALL = generator.Shape(tasks=20, jobs=1, nodes=1, workers=2)
LATER_MS = generator.START_NS // 1_000_000 + 10_000_000
INTERVAL_S = 15.0
LONG_S = 30.0


class HandClock(Clock):
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now_ms = LATER_MS

    def time_ns(self) -> int:
        return self.now_ms * 1_000_000

    def monotonic(self) -> float:
        return self.now_ms / 1000

    async def sleep(self, seconds: float) -> None:
        self.now_ms += int(seconds * 1000)

    def pass_interval(self) -> None:
        self.now_ms += int(INTERVAL_S * 1000) + 1


class CountingStore(WrappedStore):
    """Counts reads of event files, and lets them through only when the gate is open."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.event_reads = 0
        self.gate = asyncio.Event()
        self.gate.set()

    async def before(self, operation: str, key: str) -> None:
        if operation == "get" and "_events/" in key:
            self.event_reads += 1
            await self.gate.wait()


class Bench:
    """A loader with its parts, over one folder."""

    def __init__(self, folder: Path, store: Store, *, open_sessions: int = 16) -> None:
        self.store = store
        self.clock = HandClock()
        self.metrics = Metrics()
        self.cache = IndexCache(folder, store.location, max_bytes=10**9, max_sessions=100)
        self.builder = Builder(
            store, self.cache, self.clock, self.metrics, workers=2, lost_after_s=120, max_bytes=10**9
        )
        self.loader = Loader(
            store, self.builder, self.clock, open_sessions=open_sessions, refresh_interval_s=INTERVAL_S
        )

    @property
    def replays(self) -> float:
        text = self.metrics.render().decode()
        lines = [line for line in text.splitlines() if line.startswith("rayhist_server_replays_total{")]
        return sum(float(line.rpartition(" ")[2]) for line in lines)

    async def state(self, session: Session) -> str:
        async with self.loader.use(session, LONG_S) as view:
            return view.state

    async def settled(self, session: Session, done: Callable[[View], bool]) -> None:
        """Wait until a background load has put a view in place that meets the condition."""
        async with asyncio.timeout(LONG_S):
            while True:
                async with self.loader.use(session, LONG_S) as view:
                    if done(view):
                        return
                await asyncio.sleep(0.01)


def cluster(name: str) -> Cluster:
    return Cluster(ClusterKind.RAYCLUSTER, "ns", name)


def tasks(view: View) -> int:
    [count] = view.index.database.execute("SELECT count(*) FROM tasks").fetchone()
    return int(count)


async def put_marker(store: Store, session: Session, **facts: object) -> None:
    marker = msgspec.convert(facts, SessionMarker)
    await store.put(layout.key(layout.Marker(session)), msgspec.json.encode(marker))
