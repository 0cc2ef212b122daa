"""What the base classes of stores add to a backend."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from rayhist.errors import BadIdentifier, NotFound
from rayhist.memory import MemoryStore
from rayhist.storage import (
    ObjectInfo,
    Prefixed,
    Store,
    ThreadedStore,
    checked_folder,
    checked_key,
    checked_prefix,
)
from rayhist_testkit.contracts import StorageContract
from rayhist_testkit.contracts.stores import listed


class DictionaryStore(ThreadedStore):
    """The least that a backend over a blocking SDK has to write."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.threads: set[int] = set()

    def _get(self, key: str, start: int, end: int | None) -> bytes:
        self.threads.add(threading.get_ident())
        if key not in self.objects:
            raise NotFound(f"{key}: no such object")
        return self.objects[key][start:end]

    def _put(self, key: str, data: bytes, if_absent: bool) -> ObjectInfo:
        self.objects[key] = data
        return ObjectInfo(key, len(data))

    def _put_file(self, key: str, path: Path) -> ObjectInfo:
        try:
            return self._put(key, path.read_bytes(), False)
        except OSError as error:
            raise NotFound(str(path)) from error

    def _head(self, key: str) -> ObjectInfo:
        return ObjectInfo(key, len(self._get(key, 0, None)))

    def _delete(self, key: str) -> None:
        self.objects.pop(key, None)

    def _list_page(self, prefix: str, after: str) -> list[ObjectInfo]:
        keys = sorted(self.objects, key=str.encode)
        keys = [key for key in keys if key.startswith(prefix) and key.encode() > after.encode()]
        return [ObjectInfo(key, len(self.objects[key])) for key in keys[:700]]


class TestDictionary(StorageContract):
    """It keeps the whole contract, though it checks no key and claims no ability."""

    def open_store(self) -> Store:
        return DictionaryStore()


def test_a_threaded_store_works_on_other_threads() -> None:
    store = DictionaryStore()

    async def body() -> None:
        await store.put("key", b"data")
        await asyncio.gather(*(store.get("key") for _ in range(3)))

    asyncio.run(body())
    assert store.threads
    assert threading.get_ident() not in store.threads


def test_a_cancelled_write_has_ended_before_the_next_one_begins() -> None:
    """Or the older object would replace the newer one later."""
    reached, go = threading.Event(), threading.Event()

    class Waiting(DictionaryStore):
        def _put(self, key: str, data: bytes, if_absent: bool) -> ObjectInfo:
            if data == b"old":
                reached.set()
                assert go.wait(30)
            return super()._put(key, data, if_absent)

    async def body() -> None:
        store = Waiting()
        task = asyncio.create_task(store.put("key", b"old"))
        assert await asyncio.to_thread(reached.wait, 30)
        task.cancel()
        _, pending = await asyncio.wait([task], timeout=0.1)
        assert pending, "it does not leave its thread behind"
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        await store.put("key", b"new")
        assert store.objects == {"key": b"new"}

    asyncio.run(body())


def test_leaving_a_store_closes_it() -> None:
    closed = []

    class Closing(MemoryStore):
        async def close(self) -> None:
            closed.append(self.location)

    async def body() -> None:
        async with Prefixed(Closing("x"), "root"):
            assert not closed

    asyncio.run(body())
    assert closed == ["memory://x"]


def test_a_prefixed_store_names_its_folder() -> None:
    assert Prefixed(MemoryStore("x"), "/a/b/").location == "memory://x/a/b"


@pytest.mark.parametrize("folder", ["", "/", "..", "a/../b", "a//b", "a\0"])
def test_a_prefix_that_is_no_folder_is_refused(folder: str) -> None:
    with pytest.raises(BadIdentifier):
        Prefixed(MemoryStore(), folder)


def test_a_prefixed_store_never_shows_the_outside() -> None:
    async def body() -> None:
        outer = MemoryStore()
        for key in ("root/a", "root2/b", "roo/c", "root"):
            await outer.put(key, b"")
        inner = Prefixed(outer, "root")
        assert await listed(inner) == ["a"]
        for hostile in ("../root2/b", "..", "", "/root2/b"):
            with pytest.raises(BadIdentifier):
                await inner.get(hostile)

    asyncio.run(body())


def test_a_stream_reads_no_more_than_it_has_to() -> None:
    class Counting(MemoryStore):
        calls = 0

        async def get(self, key: str, *, start: int = 0, end: int | None = None) -> bytes:
            self.calls += 1
            return await super().get(key, start=start, end=end)

    async def calls(size: int, end: int | None) -> int:
        store = Counting()
        await store.put("key", b"x" * size)
        pieces = [piece async for piece in store.stream("key", end=end, chunk_bytes=10)]
        assert sum(map(len, pieces)) == min(size, size if end is None else end)
        return store.calls

    async def body() -> None:
        assert await calls(25, None) == 3
        assert await calls(25, 20) == 2
        assert await calls(25, 5) == 1
        assert await calls(0, None) == 1

    asyncio.run(body())


def test_keys_prefixes_and_folders_are_told_apart() -> None:
    assert checked_key("a/b") == checked_prefix("a/b") == "a/b"
    assert checked_prefix("") == checked_folder("") == ""
    assert checked_prefix("a/") == checked_folder("a/") == "a/"
    for refused in (lambda: checked_key("a/"), lambda: checked_folder("a"), lambda: checked_prefix("a//")):
        with pytest.raises(BadIdentifier):
            refused()
