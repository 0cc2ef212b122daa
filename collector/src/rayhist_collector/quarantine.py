"""What could not be believed, kept for whoever wants to know why, in bounded space."""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec

_MAX_FILE_BYTES = 16 << 20
_MAX_SAMPLE_BYTES = 64 << 10


class Quarantined(msgspec.Struct, frozen=True):
    """One refused piece: why, when (epoch ms), how long it was, and its beginning."""

    reason: str
    received_ms: int
    bytes: int
    sample: str


class Quarantine:
    """Two files: when one is full, it takes the place of the older one."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "events.jsonl"
        self._older = folder / "events.1.jsonl"

    def add(self, data: bytes, reason: str, received_ms: int) -> None:
        """Never raises: a disk that does not take it must not hold up the events behind it."""
        sample = data[:_MAX_SAMPLE_BYTES].decode("utf-8", "backslashreplace")
        line = msgspec.json.encode(Quarantined(reason, received_ms, len(data), sample)) + b"\n"
        with contextlib.suppress(OSError):
            if self._path.exists() and self._path.stat().st_size + len(line) > _MAX_FILE_BYTES:
                self._path.replace(self._older)
            with self._path.open("ab") as file:
                file.write(line)
