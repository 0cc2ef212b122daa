"""Waiting for whichever comes first: a signal, or the time."""

from __future__ import annotations

import asyncio

from rayhist.clock import Clock


async def signal_or_time(signal: asyncio.Event, clock: Clock, seconds: float | None) -> None:
    """Return when the event is set or so many seconds have passed; `None` waits for the event alone."""
    waits: list[asyncio.Task[object]] = [asyncio.create_task(signal.wait())]
    if seconds is not None:
        waits.append(asyncio.create_task(clock.sleep(seconds)))
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
