"""Reading objects: whole, in ranges, in pieces, and those that are not there."""

from __future__ import annotations

import pytest

from rayhist.errors import NotFound
from rayhist.storage import Store
from rayhist_testkit.contracts.stores import READS, StoreTests, failure, on_store

BYTES = bytes(range(256)) * 4
LARGE = bytes(range(251)) * 70_000
"""More than the parts in which object stores take an upload, and no power of two."""


class Reads(StoreTests):
    @on_store
    async def test_an_object_comes_back_byte_by_byte(self, store: Store) -> None:
        await store.put("a/b", BYTES)
        assert await store.get("a/b") == BYTES

    @on_store
    async def test_an_empty_object_comes_back(self, store: Store) -> None:
        await store.put("empty", b"")
        assert await store.get("empty") == b""
        assert (await store.head("empty")).size == 0

    @pytest.mark.rayhist_slow
    @on_store
    async def test_a_large_object_comes_back(self, store: Store) -> None:
        await store.put("large", LARGE)
        assert await store.get("large") == LARGE
        assert await store.get("large", start=len(LARGE) - 10) == LARGE[-10:]

    @on_store
    async def test_a_range_is_cut_at_the_end_of_the_object(self, store: Store) -> None:
        await store.put("key", BYTES)
        size = len(BYTES)
        for start in (0, 1, 255, size - 1):
            for end in (None, start, start + 1, size - 1, size, size + 1, size * 1000):
                assert await store.get("key", start=start, end=end) == BYTES[start:end], (start, end)

    @on_store
    async def test_a_range_beyond_the_object_is_empty(self, store: Store) -> None:
        """A damaged table of contents may point anywhere."""
        await store.put("key", BYTES)
        for start in (len(BYTES), len(BYTES) + 1, 2**31, 2**63, 2**80):
            assert await store.get("key", start=start) == b"", start
            assert await store.get("key", start=start, end=start + 10) == b"", start
        assert await store.get("key", start=10, end=5) == b""

    @on_store
    async def test_a_range_of_an_empty_object_is_empty(self, store: Store) -> None:
        await store.put("empty", b"")
        assert await store.get("empty", start=0, end=10) == b""
        assert await store.get("empty", start=5) == b""

    @on_store
    async def test_what_is_missing_is_not_found(self, store: Store) -> None:
        await store.put("a/there", b"")
        for name, operation in READS.items():
            for key in ("a/missing", "a", "a/there/below"):
                error = await failure(operation(store, key), NotFound, f"{name} of {key}")
                assert key in str(error), "a message names the thing"

    @on_store
    async def test_only_what_was_put_exists(self, store: Store) -> None:
        await store.put("a/there", b"")
        assert await store.exists("a/there")
        assert not await store.exists("a/missing")
        assert not await store.exists("a")

    @on_store
    async def test_head_says_size_and_time(self, store: Store) -> None:
        await store.put("key", BYTES)
        info = await store.head("key")
        assert (info.key, info.size) == ("key", len(BYTES))
        assert info.modified is None or info.modified.tzinfo is not None, "times have a zone"

    @on_store
    async def test_an_etag_changes_with_the_object(self, store: Store) -> None:
        """Whoever keeps an answer by its ETag must never keep a stale one."""
        await store.put("key", b"one")
        first = (await store.head("key")).etag
        await store.put("key", b"other")
        assert first is None or (await store.head("key")).etag != first

    @pytest.mark.rayhist_slow
    @on_store
    async def test_a_stream_is_the_object_in_pieces(self, store: Store) -> None:
        await store.put("large", LARGE)
        pieces = [piece async for piece in store.stream("large", chunk_bytes=1024 * 1024)]
        assert b"".join(pieces) == LARGE
        assert max(map(len, pieces)) < len(LARGE), "a stream is there to save memory"

    @on_store
    async def test_a_stream_of_a_range_is_that_range(self, store: Store) -> None:
        await store.put("key", BYTES)
        for start, end in ((0, 7), (3, 3), (5, None), (1000, 5000), (5000, None), (5000, 6000)):
            pieces = [piece async for piece in store.stream("key", start=start, end=end, chunk_bytes=100)]
            assert b"".join(pieces) == BYTES[start:end], (start, end)
