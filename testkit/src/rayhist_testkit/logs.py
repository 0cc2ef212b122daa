"""Archives of log files: put packs and whole files into a store as a collector does, index and read them."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from rayhist import layout
from rayhist.ids import Cluster, ClusterKind, Session
from rayhist.index import Index, IndexWriter, LogTables
from rayhist.logpack import PackedFile, PackWriter
from rayhist.logs import ALL_LINES, LogSlice, read
from rayhist.memory import MemoryStore
from rayhist.replay import logs
from rayhist.replay.inventory import take
from rayhist.storage import Store

SESSION = Session(
    Cluster(ClusterKind.RAYCLUSTER, "default", "logs"), "session_2026-11-30_15-30-13_707929_24810"
)
NODE = "0a" * 28
_FIRST_MS = 1_796_052_650_000
_INTERVAL_MS = 10_000


class Packed(msgspec.Struct, frozen=True):
    """What goes into a pack of one file: its identity, and from each offset on the bytes there."""

    file: PackedFile
    ranges: Sequence[tuple[int, bytes]] = ()


class LogArchive:
    """One session's log files in a store."""

    def __init__(self, store: Store | None = None, session: Session = SESSION) -> None:
        self.store = store or MemoryStore()
        self.session = session
        self._packs = 0

    async def pack(self, contents: Iterable[Packed], *, node: str = NODE, number: int | None = None) -> str:
        """Write a pack, by default the next one in time; returns its key."""
        self._packs += 1
        place = self._packs if number is None else number
        reference = layout.LogPack(self.session, node, _FIRST_MS + place * _INTERVAL_MS, place)
        data = await asyncio.to_thread(pack_bytes, contents)
        return (await self.store.put(layout.key(reference), data)).key

    async def file(self, path: str, data: bytes, *, node: str = NODE) -> str:
        """Write a whole file; returns its key."""
        key = layout.key(layout.LogFile(self.session, node, path))
        return (await self.store.put(key, data)).key

    async def index(self, writer: IndexWriter) -> dict[str, str]:
        """Index the log files; returns what is damaged."""
        damaged: dict[str, str] = {}
        inventory = await take(self.store, self.session)
        await logs.index(self.store, inventory, writer, damaged)
        return damaged


def pack_bytes(contents: Iterable[Packed]) -> bytes:
    """A pack's bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pack.zip"
        with PackWriter(path) as writer:
            for one in contents:
                writer.name(one.file)
                for start, data in one.ranges:
                    writer.add(one.file.id, start, data)
        return path.read_bytes()


@contextlib.contextmanager
def tables(archive: LogArchive, *, may_be_damaged: bool = False) -> Iterator[LogTables]:
    """Where the archive's log bytes stand, in memory: enough to read them, and quickly made."""
    writer = IndexWriter(Path(":memory:"))
    try:
        damaged = asyncio.run(archive.index(writer))
        assert may_be_damaged or not damaged, damaged
        yield writer
    finally:
        writer.abandon()


@contextlib.contextmanager
def indexed(archive: LogArchive) -> Iterator[Index]:
    """An index of the archive's log files and of nothing else."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.sqlite"
        writer = IndexWriter(path)
        damaged = asyncio.run(archive.index(writer))
        writer.finish()
        assert not damaged, damaged
        index = Index(path)
        try:
            yield index
        finally:
            index.close()


def contents(store: Store, tables: LogTables) -> Mapping[tuple[str, str], bytes]:
    """Node and path → content of every log file."""

    async def collect() -> dict[tuple[str, str], bytes]:
        return {
            (node, file.path): await content(store, tables, LogSlice(node, file.path, 0, file.size))
            for node in tables.log_nodes()
            for file in tables.log_files(node)
        }

    return asyncio.run(collect())


async def content(
    store: Store, tables: LogTables, what: LogSlice, *, lines: int = ALL_LINES, colours: bool = True
) -> bytes:
    """All that `read` yields, in one piece."""
    return b"".join([piece async for piece in read(store, tables, what, lines=lines, colours=colours)])
