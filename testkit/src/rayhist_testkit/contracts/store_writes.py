"""Writing objects: whole or not at all, once or again, by one or by many at once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from rayhist.errors import Exists, NotFound
from rayhist.storage import Ability, Store
from rayhist_testkit.contracts.base import run
from rayhist_testkit.contracts.store_reads import BYTES, LARGE
from rayhist_testkit.contracts.stores import StoreTests, infos, listed, needs, on_store


class Writes(StoreTests):
    @on_store
    async def test_put_says_what_it_wrote(self, store: Store) -> None:
        info = await store.put("a/b", BYTES)
        assert (info.key, info.size) == ("a/b", len(BYTES))

    @on_store
    async def test_an_object_is_replaced_as_a_whole(self, store: Store) -> None:
        await store.put("key", BYTES)
        await store.put("key", b"short")
        assert await store.get("key") == b"short"
        assert (await store.head("key")).size == 5

    def test_a_file_becomes_an_object(self, tmp_path: Path) -> None:
        async def body() -> None:
            async with self.open_store() as store:
                for name, data in (("small", BYTES), ("empty", b"")):
                    path = tmp_path / name
                    path.write_bytes(data)
                    info = await store.put_file(f"files/{name}", path)
                    assert (info.key, info.size) == (f"files/{name}", len(data))
                    assert await store.get(f"files/{name}") == data

        run(body())

    @pytest.mark.rayhist_slow
    def test_a_large_file_replaces_an_object(self, tmp_path: Path) -> None:
        async def body() -> None:
            path = tmp_path / "large"
            path.write_bytes(LARGE)
            async with self.open_store() as store:
                await store.put("key", b"before")
                assert (await store.put_file("key", path)).size == len(LARGE)
                assert await store.get("key") == LARGE

        run(body())

    def test_a_missing_file_is_not_found(self, tmp_path: Path) -> None:
        async def body() -> None:
            async with self.open_store() as store:
                with pytest.raises(NotFound, match="no-such-file"):
                    await store.put_file("key", tmp_path / "no-such-file")
                assert await listed(store) == []

        run(body())

    @on_store
    async def test_a_deleted_object_is_gone(self, store: Store) -> None:
        await store.put("a/b", BYTES)
        await store.put("a/c", BYTES)
        await store.delete("a/b")
        assert not await store.exists("a/b")
        assert await listed(store) == ["a/c"]

    @on_store
    async def test_deleting_what_is_missing_is_no_error(self, store: Store) -> None:
        await store.put("a/b", b"")
        for key in ("missing", "a", "a/b/below", "a/missing"):
            await store.delete(key)
        await store.delete_many(["missing", "a/missing"])
        assert await listed(store) == ["a/b"]

    @on_store
    async def test_many_are_deleted_at_once(self, store: Store) -> None:
        keys = [f"many/{number}" for number in range(25)]
        await asyncio.gather(*(store.put(key, b"") for key in [*keys, "kept"]))
        await store.delete_many(iter([*keys, "missing"]))
        assert await listed(store) == ["kept"]
        await store.delete_many([])

    @on_store
    async def test_put_if_absent_keeps_the_first(self, store: Store) -> None:
        needs(store, Ability.PUT_IF_ABSENT)
        assert (await store.put("key", b"first", if_absent=True)).size == 5
        with pytest.raises(Exists, match="key"):
            await store.put("key", b"second", if_absent=True)
        assert await store.get("key") == b"first"
        await store.delete("key")
        await store.put("key", b"third", if_absent=True)

    @on_store
    async def test_of_sixteen_that_put_if_absent_one_wins(self, store: Store) -> None:
        needs(store, Ability.PUT_IF_ABSENT)
        bodies = [bytes([number]) * 1000 for number in range(16)]
        results = await asyncio.gather(
            *(store.put("key", body, if_absent=True) for body in bodies), return_exceptions=True
        )
        winners = [number for number, result in enumerate(results) if not isinstance(result, BaseException)]
        assert len(winners) == 1
        assert all(isinstance(result, Exists) for result in results if isinstance(result, BaseException))
        assert await store.get("key") == bodies[winners[0]]

    @on_store
    async def test_of_two_that_put_one_whole_object_stays(self, store: Store) -> None:
        """Readers see the one or the other all the time, never a mixture or a part."""
        one, other = b"1" * 300_000, b"22" * 200_000
        await store.put("key", one)

        async def write(body: bytes) -> None:
            for _ in range(8):
                await store.put("key", body)
                await asyncio.sleep(0)  # not every store lets others in between

        async def read() -> None:
            while not writers.done():
                assert await store.get("key") in {one, other}
                await asyncio.sleep(0)

        writers = asyncio.gather(write(one), write(other))
        await asyncio.gather(writers, read(), read())
        assert await store.get("key") in {one, other}

    @on_store
    async def test_a_cancelled_put_leaves_nothing_torn(self, store: Store) -> None:
        before, body = b"before", LARGE[:6_000_000]
        await store.put("old", before)
        for turns in (0, 1, 2, 5, 20, 100):
            for key in ("old", "new"):
                task = asyncio.create_task(store.put(key, body))
                for _ in range(turns):
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.wait([task])
            assert await store.get("old") in {before, body}
            assert all(info.size in {len(before), len(body)} for info in (await infos(store)).values())
            if await store.exists("new"):
                assert await store.get("new") == body
        await store.put("after", b"still works")
