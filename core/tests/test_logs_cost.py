"""What it costs to find and read logs: bytes and requests, however much was recorded."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator

import msgspec
import pytest

from rayhist.errors import DataError, NotFound
from rayhist.logpack import PackedFile, Table
from rayhist.logs import LogSlice, read
from rayhist.memory import MemoryStore
from rayhist.replay.logs_tables import read_table
from rayhist.storage import ObjectInfo
from rayhist_testkit.logs import NODE, LogArchive, Packed, content, tables

MIB = 1024 * 1024
GIB = 1024 * MIB
LINE = b"x" * 99 + b"\n"


class Counting(MemoryStore):
    """Counts the requests for bytes, and the bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.requests = 0
        self.bytes = 0

    async def get(self, key: str, *, start: int = 0, end: int | None = None) -> bytes:
        data = await super().get(key, start=start, end=end)
        self.requests += 1
        self.bytes += len(data)
        return data

    def reset(self) -> None:
        self.requests = self.bytes = 0


class OneGibibyte(Counting):
    """Every object has 1 GiB, in lines of 100 bytes."""

    async def get(self, key: str, *, start: int = 0, end: int | None = None) -> bytes:
        stop = GIB if end is None else min(end, GIB)
        self.requests += 1
        self.bytes += stop - start
        first = start // 100 * 100
        return (LINE * (2 + (stop - first) // 100))[start - first : stop - first]

    async def list_objects(self, prefix: str = "", *, after: str = "") -> AsyncIterator[ObjectInfo]:
        async for info in super().list_objects(prefix, after=after):
            yield msgspec.structs.replace(info, size=GIB)


def _lines(count: int, seed: int = 0) -> bytes:
    chance = random.Random(seed)
    return b"".join(b"%d task %x finished\n" % (number, chance.getrandbits(64)) for number in range(count))


def test_the_tail_of_a_big_file_in_packs_reads_only_the_last_ranges() -> None:
    """1 GiB long; only its last 9 MiB were recorded, in two packs, so that the test is short."""
    store = Counting()
    archive = LogArchive(store)
    data = _lines(250_000)
    start = GIB - len(data)
    file = PackedFile("a", "worker.out")
    half = len(data) // 2
    asyncio.run(archive.pack([Packed(file, [(start, data[:half])])]))
    asyncio.run(archive.pack([Packed(file, [(start + half, data[half:])])]))
    with tables(archive) as found:
        [row] = found.log_files(NODE)
        assert row.size == GIB
        store.reset()
        tail = asyncio.run(content(store, found, LogSlice(NODE, "worker.out", 0, GIB), lines=1000))
    assert tail == b"".join(data.splitlines(keepends=True)[-1000:])
    assert store.bytes < MIB
    assert store.requests <= 2


def test_the_tail_of_a_big_whole_file_reads_only_its_end() -> None:
    store = OneGibibyte()
    archive = LogArchive(store)
    asyncio.run(archive.file("worker.out", b""))
    with tables(archive) as found:
        assert store.requests == 0
        tail = asyncio.run(content(store, found, LogSlice(NODE, "worker.out", 0, GIB), lines=1000))
    assert tail == LINE * 999 + b"x" * (GIB % 100)
    assert store.bytes < MIB


def test_50_000_long_lines_are_honoured_without_being_kept_in_memory() -> None:
    """100 KiB a line; what does not fit into what is kept is fetched a second time."""
    archive = LogArchive()
    line = b"x" * (100 * 1024 - 1) + b"\n"
    asyncio.run(archive.file("worker.out", b"first\n" + line * 200))
    with tables(archive) as found:
        size = found.log_files(NODE)[0].size
        what = LogSlice(NODE, "worker.out", 0, size)
        assert asyncio.run(content(archive.store, found, what, lines=200)) == line * 200
        assert asyncio.run(content(archive.store, found, what, lines=50_000)) == b"first\n" + line * 200

        async def largest() -> int:
            return max([len(piece) async for piece in read(archive.store, found, what)])

        assert asyncio.run(largest()) <= 256 * 1024


def test_a_packs_table_is_read_without_its_ranges() -> None:
    """Of a pack with 4 MiB of incompressible ranges, 64 KiB."""
    store = Counting()
    archive = LogArchive(store)
    noise = random.Random(1).randbytes(4 * MIB)
    key = asyncio.run(archive.pack([Packed(PackedFile("a", "worker.out"), [(0, noise)])]))
    store.reset()
    table = asyncio.run(_table(store, key))
    assert [(entry.start, entry.end) for entry in table.ranges] == [
        (n * MIB, (n + 1) * MIB) for n in range(4)
    ]
    assert store.requests == 1
    assert store.bytes <= 64 * 1024


def test_a_long_table_takes_a_few_requests() -> None:
    store = Counting()
    archive = LogArchive(store)
    files = [Packed(PackedFile(f"f{n}", f"worker-{n}.out"), [(0, b"%d\n" % n)]) for n in range(3000)]
    key = asyncio.run(archive.pack(files))
    store.reset()
    table = asyncio.run(_table(store, key))
    assert len(table.files) == len(table.ranges) == 3000
    assert store.requests <= 4


@pytest.mark.parametrize("listed", [10, 1000, 10**9])
def test_a_pack_of_another_size_than_listed_is_damaged(listed: int) -> None:
    archive = LogArchive()
    key = asyncio.run(archive.pack([Packed(PackedFile("a", "worker.out"), [(0, b"text")])]))
    with pytest.raises(DataError, match=key):
        asyncio.run(read_table(archive.store, ObjectInfo(key=key, size=listed)))


def test_a_pack_that_is_gone_is_not_found() -> None:
    with pytest.raises(NotFound):
        asyncio.run(read_table(MemoryStore(), ObjectInfo(key="a/b.zip", size=100)))


async def _table(store: MemoryStore, key: str) -> Table:
    return await read_table(store, await store.head(key))
