"""Compressing a file in constant memory."""

from __future__ import annotations

import zlib
from pathlib import Path

_PIECE_BYTES = 1 << 18
_GZIP = 31  # zlib's window size, and "with a gzip header"
_BUSY_BYTES = 8 << 20
_FAST_LEVEL = 1
_USUAL_LEVEL = 6


def compress(source: Path, target: Path) -> None:
    """Write `source` to `target` as gzip.

    A big file means a busy node, where half the processor time is worth a fifth more bytes (Ray's events:
    8.1 times smaller in 6 µs each, instead of 10.2 times in 12 µs).
    """
    level = _FAST_LEVEL if source.stat().st_size > _BUSY_BYTES else _USUAL_LEVEL
    deflater = zlib.compressobj(level, zlib.DEFLATED, _GZIP)
    with source.open("rb") as reader, target.open("wb") as writer:
        while piece := reader.read(_PIECE_BYTES):
            writer.write(deflater.compress(piece))
        writer.write(deflater.flush())
