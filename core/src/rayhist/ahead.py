"""Work on items in order, with the next ones already under way."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from itertools import islice
from typing import TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


async def in_order(
    items: Iterable[_Item], work: Callable[[_Item], Awaitable[_Result]], *, most: int = 8
) -> AsyncGenerator[tuple[_Item, _Result], None]:
    """Yield each item with the result of its work, in order.

    The first is worked on alone, then two at once, then four, up to `most`: whoever stops early has hardly
    asked for more than was needed.  The first exception ends it; what is under way is cancelled.
    """
    waiting: deque[tuple[_Item, asyncio.Future[_Result]]] = deque()
    rest = iter(items)
    width = 1
    try:
        while True:
            for item in islice(rest, width - len(waiting)):
                waiting.append((item, asyncio.ensure_future(work(item))))
            if not waiting:
                return
            item, future = waiting[0]
            result = await future
            waiting.popleft()
            yield item, result
            width = min(2 * width, most)
    finally:
        for _, future in waiting:
            future.cancel()
        await asyncio.gather(*(future for _, future in waiting), return_exceptions=True)
