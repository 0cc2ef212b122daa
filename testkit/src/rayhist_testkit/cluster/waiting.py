"""Waiting for a condition, with an end."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from rayhist.errors import RayhistError

_T = TypeVar("_T")


def until(
    condition: Callable[[], _T | None],
    what: str,
    *,
    within_s: float,
    every_s: float = 0.2,
    remedy: str | None = None,
) -> _T:
    """Ask `condition` until its answer is true, and return that answer.

    Raises `RayhistError` that names `what` when `within_s` seconds have passed.
    """
    end = time.monotonic() + within_s
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() >= end:
            raise RayhistError(f"waited {within_s:g} s in vain until {what}", remedy=remedy)
        time.sleep(every_s)
