"""Listing objects and folders: which, in what order, and from where on."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable

import pytest

from rayhist.storage import Store
from rayhist_testkit.contracts.stores import StoreTests, infos, listed, on_store

_AT_ONCE = 32


async def fill(store: Store, keys: Iterable[str], data: bytes = b"x") -> None:
    """Put an object under each key, some at once."""
    slots = asyncio.Semaphore(_AT_ONCE)

    async def put(key: str) -> None:
        async with slots:
            await store.put(key, data)

    await asyncio.gather(*map(put, keys))


class Listing(StoreTests):
    @on_store
    async def test_an_empty_store_lists_nothing(self, store: Store) -> None:
        assert await listed(store) == []
        assert await store.list_folders() == []
        assert await listed(store, "no/such/") == []
        assert await store.list_folders("no/such/") == []

    @on_store
    async def test_a_prefix_is_text(self, store: Store) -> None:
        await fill(store, ["a/bc", "a/b-d/x", "a/c", "ab", "b/b"])
        assert await listed(store, "a/b") == ["a/b-d/x", "a/bc"]
        assert await listed(store, "a") == ["a/b-d/x", "a/bc", "a/c", "ab"]
        assert await listed(store, "a/") == ["a/b-d/x", "a/bc", "a/c"]
        assert await listed(store, "a/bc") == ["a/bc"]
        assert await listed(store, "a/bc/") == []
        assert await listed(store, "a/b-d/x") == ["a/b-d/x"]
        assert await listed(store, "z") == []

    @on_store
    async def test_keys_are_listed_in_the_order_of_their_bytes(self, store: Store) -> None:
        """UTF-8 bytes: neither the alphabet's order nor that of UTF-16."""
        names = ["0", "10", "9", "A", "Z", "_", "a", "ab", "b", "z", "é", "\uff5a", "😀"]
        await fill(store, [f"x/{name}" for name in reversed(names)])
        assert await listed(store) == [f"x/{name}" for name in names]

    @on_store
    async def test_a_folder_is_ordered_with_its_slash(self, store: Store) -> None:
        """`d.txt` comes before `d/x`, since `.` is before `/`."""
        keys = ["d-1", "d.txt", "d/x", "d/y/z", "d0"]
        await fill(store, keys)
        assert await listed(store) == keys
        for number, key in enumerate(keys):
            assert await listed(store, after=key) == keys[number + 1 :], key

    @on_store
    async def test_a_listing_starts_after_a_key(self, store: Store) -> None:
        keys = ["f/1", "f/3", "f/5", "g/1"]
        await fill(store, keys)
        assert await listed(store, after="f/3") == ["f/5", "g/1"]
        assert await listed(store, after="f/2") == ["f/3", "f/5", "g/1"]
        assert await listed(store, "f/", after="f/3") == ["f/5"]
        assert await listed(store, "f/", after="a") == ["f/1", "f/3", "f/5"]
        assert await listed(store, "f/", after="g/1") == []
        assert await listed(store, after="zzz") == []

    @on_store
    async def test_a_listing_says_the_size(self, store: Store) -> None:
        await store.put("a", b"123")
        await store.put("b/c", b"")
        found = await infos(store)
        assert {key: info.size for key, info in found.items()} == {"a": 3, "b/c": 0}
        assert all(info.modified is None or info.modified.tzinfo for info in found.values())

    @on_store
    async def test_folders_are_the_next_parts_of_keys(self, store: Store) -> None:
        await fill(store, ["file", "a/1", "a/2", "b/c/d", "b/c/e", "b/f", "é/1", "b.d/1"])
        assert await store.list_folders() == ["a", "b", "b.d", "é"]
        assert await store.list_folders("b/") == ["c"]
        assert await store.list_folders("a/") == []
        assert await store.list_folders("file/") == []

    @on_store
    async def test_a_folder_ends_with_its_last_object(self, store: Store) -> None:
        await fill(store, ["a/b/c", "a/d"])
        await store.delete("a/b/c")
        assert await store.list_folders("a/") == []
        await store.delete_many(["a/d"])
        assert await store.list_folders() == []

    @pytest.mark.rayhist_slow
    @on_store
    async def test_2500_objects_are_listed_each_once(self, store: Store) -> None:
        """More than two of the pages in which object stores answer."""
        keys = [f"many/{number % 5}/{number:05}" for number in range(2500)]
        await fill(store, keys)
        assert await listed(store, "many/") == sorted(keys)
        assert await listed(store, "many/3") == sorted(key for key in keys if key.startswith("many/3"))
        assert await listed(store, after="many/2/01000") == sorted(
            key for key in keys if key > "many/2/01000"
        )
        assert await store.list_folders("many/") == ["0", "1", "2", "3", "4"]

    @on_store
    async def test_a_listing_may_be_left_and_the_store_changed_meanwhile(self, store: Store) -> None:
        await fill(store, ["a", "b", "c"])
        async with contextlib.aclosing(store.list_objects()) as listing:  # type: ignore[type-var]
            async for info in listing:
                assert info.key == "a"
                break
        seen = []
        async for info in store.list_objects():
            seen.append(info.key)
            await store.delete("c")
        assert seen[:2] == ["a", "b"]
        assert await listed(store) == ["a", "b"]
