"""How long to wait before the next attempt: exponential, with jitter, up to a bound."""

from __future__ import annotations

import random


class Backoff:
    """Seconds between attempts, doubling from `first_s` to `most_s`; each is drawn from its upper half."""

    def __init__(self, first_s: float = 1.0, most_s: float = 60.0) -> None:
        self._first_s = first_s
        self._most_s = most_s
        self.failures = 0

    def failed(self, retry_after_s: float | None = None) -> float:
        """Count a failure and return how long to wait; never less than what the other side asked for."""
        step_s = min(self._most_s, self._first_s * 2.0 ** min(self.failures, 30))
        self.failures += 1
        delay_s = step_s * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards nothing
        return max(delay_s, retry_after_s or 0.0)

    def succeeded(self) -> None:
        self.failures = 0
