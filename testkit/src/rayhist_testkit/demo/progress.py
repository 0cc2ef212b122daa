"""Telling the user, step by step, what is being done and for how long it has gone on."""

from __future__ import annotations

import sys
import time
from typing import TextIO


class Progress:
    """Numbered steps on a stream, each with the seconds since the start."""

    def __init__(self, steps: int | None = None, stream: TextIO | None = None) -> None:
        """`steps` is how many there will be, if that is known."""
        self._steps = steps
        self._done = 0
        self._stream = stream or sys.stderr
        self._start = time.monotonic()

    def step(self, text: str) -> None:
        self._done += 1
        elapsed = time.monotonic() - self._start
        of = f"/{self._steps}" if self._steps else ""
        self._stream.write(f"[{self._done}{of}] {elapsed:4.0f} s  {text}\n")
        self._stream.flush()
