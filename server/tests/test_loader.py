"""Opening sessions: once however many ask, never half read, always as new as the refresh interval."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from rayhist.errors import NotFound, Unavailable
from rayhist.ids import Session
from rayhist.memory import MemoryStore
from rayhist_server.loader import Loading
from rayhist_testkit import generator
from rayhist_testkit.faults import FlakyStore

from .loading import LATER_MS, LONG_S, SMALL, Bench, CountingStore, cluster, put_marker, tasks


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
