"""The faulty stores are faulty in the way they say, and good stores otherwise."""

from __future__ import annotations

import asyncio

import pytest

from rayhist.clock import Clock
from rayhist.errors import NotFound, Unavailable
from rayhist.memory import MemoryStore
from rayhist.storage import Store
from rayhist_testkit.contracts import StorageContract
from rayhist_testkit.contracts.stores import infos, listed
from rayhist_testkit.faults import FlakyStore, SlowStore, TruncatingStore


class StandingClock(Clock):
    """Counts what was slept."""

    def __init__(self) -> None:
        self.slept = 0.0

    def time_ns(self) -> int:
        return 0

    def monotonic(self) -> float:
        return self.slept

    async def sleep(self, seconds: float) -> None:
        self.slept += seconds


class TestWithoutFaults(StorageContract):
    """A flaky store that never fails is a whole store."""

    def open_store(self) -> Store:
        return FlakyStore(MemoryStore(), every=0)


def test_every_third_operation_fails() -> None:
    async def body() -> list[bool]:
        store = FlakyStore(MemoryStore(), every=3)
        results = await asyncio.gather(*(store.put(f"{n}", b"") for n in range(9)), return_exceptions=True)
        return [isinstance(result, Unavailable) for result in results]

    assert asyncio.run(body()) == [False, False, True] * 3


def test_a_failed_operation_has_not_happened() -> None:
    async def body() -> None:
        inner = MemoryStore()
        with pytest.raises(Unavailable):
            await FlakyStore(inner, every=1).put("key", b"data")
        with pytest.raises(NotFound):
            await inner.get("key")

    asyncio.run(body())


def test_a_slow_store_takes_its_time_by_the_given_clock() -> None:
    async def body() -> float:
        clock = StandingClock()
        store = SlowStore(MemoryStore(), clock, 2.5)
        await store.put("key", b"data")
        assert await store.get("key") == b"data"
        assert await listed(store) == ["key"]
        assert await store.exists("key")
        return clock.slept

    assert asyncio.run(body()) == 4 * 2.5


def test_a_truncating_store_cuts_what_it_should_and_nothing_else() -> None:
    async def body() -> None:
        inner = MemoryStore()
        await inner.put("events/1", b"0123456789")
        await inner.put("logs/1", b"0123456789")
        store = TruncatingStore(inner, part="events/", keep=4)
        assert await store.get("events/1") == b"0123"
        assert await store.get("events/1", start=2, end=9) == b"23"
        assert await store.get("events/1", start=6) == b""
        assert b"".join([piece async for piece in store.stream("events/1")]) == b"0123"
        assert (await store.head("events/1")).size == 4
        assert {key: info.size for key, info in (await infos(store)).items()} == {"events/1": 4, "logs/1": 10}
        assert await store.get("logs/1") == b"0123456789"

    asyncio.run(body())
