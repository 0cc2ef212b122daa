"""What a loader does with a damaged cache, a damaged archive, and a neighbour on its folder."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from rayhist.errors import DataError, Unavailable
from rayhist.memory import MemoryStore
from rayhist.replay.build import Report
from rayhist_testkit import generator
from rayhist_testkit.faults import TruncatingStore

from .loading import LONG_S, SMALL, Bench, tasks


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
