"""Read a log pack's table of contents from its end, without the ranges' bytes."""

from __future__ import annotations

import asyncio
import io
from typing import IO, cast

from rayhist import logpack
from rayhist.errors import DataError
from rayhist.storage import ObjectInfo, Store

_PIECE_BYTES = 64 * 1024
_MAX_TABLE_BYTES = 256 * 1024 * 1024
"""A table of a million ranges; no pack has so many."""


async def read_table(store: Store, info: ObjectInfo) -> logpack.Table:
    """Raises `DataError` that names the pack, `NotFound`, and what else the store raises."""
    pack = _Fragment(info.size)
    wanted = max(0, info.size - _PIECE_BYTES), info.size
    while True:
        start, end = wanted
        data = await store.get(info.key, start=start, end=end)
        if len(data) < end - start or pack.at_hand + len(data) > _MAX_TABLE_BYTES:
            raise DataError(f"{info.key}: not a log pack: its table is not where it should be")
        pack.add(start, data)
        try:
            return await asyncio.to_thread(logpack.read_table, cast("IO[bytes]", pack), info.key)
        except _Absent as absent:
            wanted = absent.start, min(info.size, max(absent.end, absent.start + _PIECE_BYTES))


class _Absent(Exception):
    """The bytes `[start, end)` are needed, and not at hand."""

    def __init__(self, start: int, end: int) -> None:
        super().__init__(start, end)
        self.start = start
        self.end = end


class _Fragment(io.RawIOBase):
    """A file of which some parts are at hand; `_Absent` is raised when another part is read."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._parts: list[tuple[int, bytes]] = []
        self._position = 0

    @property
    def at_hand(self) -> int:
        """How many bytes were added."""
        return sum(len(data) for _, data in self._parts)

    def add(self, start: int, data: bytes) -> None:
        self._parts.append((start, data))
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise OSError(f"seek to {base + offset}")
        self._position = base + offset
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        start = min(self._position, self._size)
        end = self._size if size is None or size < 0 else min(start + size, self._size)
        if start == end:
            return b""
        for begin, data in self._parts:
            if begin <= start and end <= begin + len(data):
                self._position = end
                return data[start - begin : end - begin]
        raise _Absent(start, end)
