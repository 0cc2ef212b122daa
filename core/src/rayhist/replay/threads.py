"""Work on threads that does not outlive the task which waits for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypeVar

_T = TypeVar("_T")


class Threads:
    """Runs blocking functions; once a caller was cancelled, `stopped` is true, and they should end soon."""

    def __init__(self) -> None:
        self._stop = threading.Event()

    def stopped(self) -> bool:
        return self._stop.is_set()

    async def run(self, function: Callable[..., _T], *args: Any) -> _T:
        """Run the function on a thread.  A cancelled caller goes on only when the function has returned.

        So what the function works on can be closed afterwards.
        """
        work = asyncio.ensure_future(asyncio.to_thread(function, *args))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            self._stop.set()
            await _settled(work)
            raise


async def _settled(work: asyncio.Future[Any]) -> None:
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError:
            continue  # the caller is being cancelled already
    if not work.cancelled():
        work.exception()  # whatever it was, the caller was cancelled
