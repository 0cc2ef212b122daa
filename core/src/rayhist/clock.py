"""Time, as something that can be handed over, so that no test has to sleep."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod


class Clock(ABC):
    @abstractmethod
    def time_ns(self) -> int:
        """Nanoseconds since the epoch, UTC."""

    @abstractmethod
    def monotonic(self) -> float:
        """Seconds that never go backwards."""

    @abstractmethod
    async def sleep(self, seconds: float) -> None: ...

    def time_ms(self) -> int:
        """Milliseconds since the epoch, UTC."""
        return self.time_ns() // 1_000_000


class SystemClock(Clock):
    def time_ns(self) -> int:
        return time.time_ns()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
