"""Opening sessions: once however many ask, never half read, always as new as the refresh interval."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from rayhist import layout
from rayhist.clock import Clock
from rayhist.errors import DataError, NotFound, Unavailable
from rayhist.ids import Cluster, ClusterKind, Session
from rayhist.manifest import SessionMarker
from rayhist.memory import MemoryStore
from rayhist.replay.build import Report
from rayhist.storage import Store
from rayhist_server.builder import Builder
from rayhist_server.cache import IndexCache
from rayhist_server.loader import Loader, Loading
from rayhist_server.metrics import Metrics
from rayhist_server.view import View
from rayhist_testkit import generator
from rayhist_testkit.faults import FlakyStore, TruncatingStore, WrappedStore

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


def test_a_session_is_replayed_once_however_many_ask(tmp_path: Path) -> None:
    async def run() -> None:
        session = await generator.lay_out(store := MemoryStore(), SMALL)
        bench = Bench(tmp_path, store)
        states = await asyncio.gather(*(bench.state(session) for _ in range(20)))
        assert len(set(states)) == 1
        assert bench.replays == 1
        await bench.loader.close()

    asyncio.run(run())


def test_after_a_restart_the_index_comes_from_the_disk_and_no_event_is_read(tmp_path: Path) -> None:
    async def run() -> None:
        session = await generator.lay_out(store := MemoryStore("kept"), SMALL)
        first = Bench(tmp_path, store)
        state = await first.state(session)
        await first.loader.close()
        counting = CountingStore(store)
        second = Bench(tmp_path, counting)
        assert await second.state(session) == state
        assert counting.event_reads == 0
        await second.loader.close()

    asyncio.run(run())


def test_a_failure_is_told_and_not_kept(tmp_path: Path) -> None:
    async def run() -> None:
        session = await generator.lay_out(store := MemoryStore(), SMALL)
        flaky = FlakyStore(store, every=1)
        bench = Bench(tmp_path, flaky)
        with pytest.raises(Unavailable):
            await bench.state(session)
        flaky.every = 0
        assert await bench.state(session)
        await bench.loader.close()

    asyncio.run(run())


def test_no_index_is_kept_of_a_session_that_could_be_read_in_part_only(tmp_path: Path) -> None:
    async def run() -> None:
        session = await generator.lay_out(store := MemoryStore(), generator.Shape(tasks=20, jobs=4, nodes=2))
        flaky = FlakyStore(store, every=0)
        bench = Bench(tmp_path, flaky)
        flaky.calls, flaky.every = 0, 6  # some of the event files are read before it fails
        with pytest.raises(Unavailable):
            await bench.state(session)
        assert list(tmp_path.iterdir()) == []
        await bench.loader.close()

    asyncio.run(run())


def test_an_unknown_session_is_not_found(tmp_path: Path) -> None:
    async def run() -> None:
        bench = Bench(tmp_path, MemoryStore())
        with pytest.raises(NotFound, match="raycluster/ns/a/session_2026"):
            await bench.state(Session(cluster("a"), generator.SESSION_NAME))
        await bench.loader.close()

    asyncio.run(run())


def test_who_does_not_want_to_wait_is_told_the_progress(tmp_path: Path) -> None:
    async def run() -> None:
        session = await generator.lay_out(store := MemoryStore(), SMALL)
        counting = CountingStore(store)
        counting.gate.clear()
        bench = Bench(tmp_path, counting)
        with pytest.raises(Loading) as failure:
            async with bench.loader.use(session, 0.05):
                pass
        assert failure.value.progress.total_bytes > 0
        assert failure.value.retry_after_s
        counting.gate.set()
        assert await bench.state(session)
        await bench.loader.close()

    asyncio.run(run())


def test_a_waiter_that_goes_away_does_not_stop_the_replay_for_the_others(tmp_path: Path) -> None:
    async def run() -> None:
        session = await generator.lay_out(store := MemoryStore(), SMALL)
        counting = CountingStore(store)
        counting.gate.clear()
        bench = Bench(tmp_path, counting)
        leaving, staying = (asyncio.create_task(bench.state(session)) for _ in range(2))
        async with asyncio.timeout(LONG_S):
            while not counting.event_reads:
                await asyncio.sleep(0.01)
        leaving.cancel()
        counting.gate.set()
        assert await staying
        assert bench.replays == 1
        await bench.loader.close()

    asyncio.run(run())


def test_only_so_many_sessions_are_held_open_and_none_closes_under_its_reader(tmp_path: Path) -> None:
    async def run() -> None:
        store = MemoryStore()
        sessions = [await generator.lay_out(store, SMALL, cluster=cluster(name)) for name in "abc"]
        bench = Bench(tmp_path, store, open_sessions=1)
        async with bench.loader.use(sessions[0], LONG_S) as view:
            await bench.state(sessions[1])
            await bench.state(sessions[2])
            assert tasks(view) > 0
        await bench.state(sessions[1])
        assert bench.loader.open_count == 1
        await bench.loader.close()

    asyncio.run(run())


def test_more_sessions_at_once_than_may_be_open_are_all_answered(tmp_path: Path) -> None:
    async def run() -> None:
        store = MemoryStore()
        sessions = [await generator.lay_out(store, SMALL, cluster=cluster(f"c{n}")) for n in range(12)]
        bench = Bench(tmp_path, store, open_sessions=2)
        for _ in range(2):
            states = await asyncio.gather(*(bench.state(one) for one in sessions for _ in range(3)))
            assert len(set(states)) == 12
        assert (bench.replays, bench.loader.open_count) == (12, 2)
        await bench.loader.close()

    asyncio.run(run())


def test_a_session_that_goes_on_is_read_again_after_the_refresh_interval(tmp_path: Path) -> None:
    async def run() -> None:
        bench = Bench(tmp_path, store := MemoryStore())
        session = await generator.lay_out(store, SMALL)
        await put_marker(store, session, start_ms=1, last_seen_ms=LATER_MS)
        before = await bench.state(session)
        await generator.lay_out(store, generator.Shape(tasks=40, jobs=1, nodes=1, workers=2))
        await put_marker(store, session, start_ms=1, last_seen_ms=LATER_MS)
        assert await bench.state(session) == before, "within the interval nothing is asked of the store"
        bench.clock.pass_interval()
        assert await bench.state(session) == before, "the old index serves while the new one is built"
        await bench.settled(session, lambda view: view.state != before)
        await bench.loader.close()

    asyncio.run(run())


def test_a_session_that_is_no_longer_heard_of_is_lost_although_nothing_changed(tmp_path: Path) -> None:
    async def run() -> None:
        bench = Bench(tmp_path, store := MemoryStore())
        session = await generator.lay_out(store, SMALL)
        await put_marker(store, session, start_ms=1, last_seen_ms=LATER_MS)
        assert (await bench.state(session)).endswith("-running")
        bench.clock.now_ms += 10**6
        await bench.settled(session, lambda view: view.end.ended)
        await bench.loader.close()
        again = Bench(tmp_path, store)
        again.clock.now_ms += 10**6
        assert (await again.state(session)).endswith("-ended")
        await again.loader.close()

    asyncio.run(run())


def test_an_old_session_is_not_looked_at_again(tmp_path: Path) -> None:
    async def run() -> None:
        session = await generator.lay_out(store := MemoryStore(), SMALL)
        flaky = FlakyStore(store, every=0)
        bench = Bench(tmp_path, flaky)
        bench.clock.now_ms += 10**9
        await bench.state(session)
        calls = flaky.calls
        bench.clock.pass_interval()
        await bench.state(session)
        assert (flaky.calls, bench.loader.loading_count) == (calls, 0)
        await bench.loader.close()

    asyncio.run(run())


def test_an_outage_during_a_refresh_leaves_the_old_index_serving(tmp_path: Path) -> None:
    async def run() -> None:
        session = await generator.lay_out(store := MemoryStore(), SMALL)
        await put_marker(store, session, start_ms=1, last_seen_ms=LATER_MS)
        flaky = FlakyStore(store, every=0)
        bench = Bench(tmp_path, flaky)
        state = await bench.state(session)
        flaky.every = 1
        bench.clock.pass_interval()
        for _ in range(3):
            assert await bench.state(session) == state
            await asyncio.sleep(0)
        await bench.loader.close()

    asyncio.run(run())


def test_a_session_deleted_from_the_archive_disappears(tmp_path: Path) -> None:
    async def run() -> None:
        bench = Bench(tmp_path, store := MemoryStore())
        session = await generator.lay_out(store, SMALL)
        await put_marker(store, session, start_ms=1, last_seen_ms=LATER_MS)
        await bench.state(session)
        await store.delete_many([info.key async for info in store.list_objects()])
        bench.clock.pass_interval()
        with pytest.raises(NotFound):
            await bench.settled(session, lambda _: False)
        await bench.loader.close()

    asyncio.run(run())


@pytest.mark.parametrize("content", [b"", b"garbage" * 1000, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_cached_file_that_is_no_index_is_set_aside_and_built_anew(tmp_path: Path, content: bytes) -> None:
    async def run() -> None:
        session = await generator.lay_out(store := MemoryStore("damaged"), SMALL)
        first = Bench(tmp_path, store)
        state = await first.state(session)
        await first.loader.close()
        first.cache.path(session.path, state).write_bytes(content)
        second = Bench(tmp_path, store)
        assert await second.state(session) == state
        assert second.replays == 1
        assert [path.suffix for path in tmp_path.iterdir() if path.suffix != ".index"] == [".bad"]
        await second.loader.close()

    asyncio.run(run())


def test_an_index_found_damaged_while_it_serves_is_built_anew(tmp_path: Path) -> None:
    async def run() -> None:
        session = await generator.lay_out(store := MemoryStore(), SMALL)
        bench = Bench(tmp_path, store)
        async with bench.loader.use(session, LONG_S) as view:
            bench.loader.distrust(view)
        assert await bench.state(session)
        assert bench.replays == 2
        await bench.loader.close()

    asyncio.run(run())


def test_two_servers_on_one_cache_folder_do_not_hurt_each_other(tmp_path: Path) -> None:
    async def run() -> None:
        session = await generator.lay_out(store := MemoryStore("shared"), SMALL)
        one, other = Bench(tmp_path, store), Bench(tmp_path, store)
        states = await asyncio.gather(*(bench.state(session) for bench in (one, other) for _ in range(5)))
        assert len(set(states)) == 1
        async with one.loader.use(session, LONG_S) as view:
            assert tasks(view) > 0
        await one.loader.close()
        async with other.loader.use(session, LONG_S) as view:
            assert tasks(view) > 0
        await other.loader.close()

    asyncio.run(run())


def test_a_cache_folder_that_cannot_be_written_is_named_with_a_remedy(tmp_path: Path) -> None:
    async def run() -> None:
        session = await generator.lay_out(store := MemoryStore(), SMALL)
        bench = Bench(tmp_path / "gone", store)
        (tmp_path / "gone").rmdir()
        with pytest.raises(Unavailable, match="gone") as failure:
            await bench.state(session)
        assert failure.value.remedy == "set [cache] path"
        await bench.loader.close()

    asyncio.run(run())


def test_a_session_of_which_nothing_can_be_read_is_an_error_and_not_an_empty_page(tmp_path: Path) -> None:
    async def run() -> None:
        session = await generator.lay_out(store := MemoryStore(), SMALL)
        bench = Bench(tmp_path, TruncatingStore(store, part="_events/", keep=1))
        with pytest.raises(DataError, match="none of the") as failure:
            await bench.state(session)
        assert failure.value.remedy
        assert list(tmp_path.iterdir()) == []
        await bench.loader.close()

    asyncio.run(run())


def test_one_corrupt_object_costs_that_object_and_is_reported(tmp_path: Path) -> None:
    async def run() -> None:
        session = await generator.lay_out(store := MemoryStore(), generator.Shape(tasks=40, jobs=2, nodes=2))
        keys = [info.key async for info in store.list_objects() if "job_events" in info.key]
        await store.put(keys[0], b"\x1f\x8bnot gzip")
        bench = Bench(tmp_path, store)
        async with bench.loader.use(session, LONG_S) as view:
            assert list(msgspec.convert(view.index.meta("report"), Report).damaged) == [keys[0]]
            assert tasks(view) > 0
        await bench.loader.close()

    asyncio.run(run())
