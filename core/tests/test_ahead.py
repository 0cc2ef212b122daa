"""Work goes on ahead of the reader, a little at first and never by more than was allowed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

import pytest

from rayhist.ahead import in_order


def test_results_come_in_order_whatever_finishes_first() -> None:
    async def run() -> list[tuple[int, int]]:
        done = {number: asyncio.Event() for number in range(20)}

        async def work(number: int) -> int:
            if number % 2 == 0 and number > 2:
                await done[number + 1].wait()
            done[number].set()
            return number * number

        return [one async for one in in_order(range(20), work, most=4)]

    assert asyncio.run(run()) == [(number, number * number) for number in range(20)]


def test_who_stops_early_has_hardly_asked_for_more_than_was_needed() -> None:
    """One item is begun, then two more, then four; eight at most are under way."""
    begun: list[int] = []
    ahead: list[int] = []

    async def work(number: int) -> int:
        begun.append(number)
        return number

    async def run() -> None:
        async for number, _ in in_order(range(100), work, most=8):
            await asyncio.sleep(0)
            ahead.append(len(begun) - number - 1)

    asyncio.run(run())
    assert ahead[:5] == [0, 1, 3, 7, 7]
    assert max(ahead) == 7


def test_a_failure_ends_it_and_cancels_what_is_under_way() -> None:
    cancelled: list[int] = []

    async def work(number: int) -> int:
        if number == 4:
            raise KeyError(number)
        if number > 4:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(number)
                raise
        return number

    async def run() -> list[int]:
        seen = []
        with contextlib.suppress(KeyError):
            async for number, _ in in_order(range(100), work):
                seen.append(number)
                await asyncio.sleep(0)
        return seen

    assert asyncio.run(run()) == [0, 1, 2, 3]
    assert cancelled
    assert all(number > 4 for number in cancelled)


def test_items_are_taken_only_as_they_are_needed() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(1_000_000):
            taken.append(number)
            yield number

    async def work(number: int) -> int:
        return number

    async def run() -> None:
        async with contextlib.aclosing(in_order(items(), work)) as results:
            async for number, _ in results:
                if number == 2:
                    return

    asyncio.run(run())
    assert len(taken) < 10


@pytest.mark.parametrize("most", [1, 3])
def test_no_items_are_no_results(most: int) -> None:
    async def work(number: int) -> int:
        return number

    async def run() -> list[tuple[int, int]]:
        return [one async for one in in_order([], work, most=most)]

    assert asyncio.run(run()) == []
