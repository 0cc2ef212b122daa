"""Read a stretch of a log file: all of it, or its last lines, byte by byte as it was, in bounded memory."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from functools import partial

from rayhist.ahead import in_order
from rayhist.index import LogTables
from rayhist.logs import sections
from rayhist.logs.ansi import without_colours
from rayhist.logs.resolve import LogSlice
from rayhist.storage import Store

ALL_LINES = -1
_KEEP_BYTES = 8 * 1024 * 1024
"""How much of a tail is kept while its beginning is looked for; the rest is fetched again."""


def read(
    store: Store, tables: LogTables, what: LogSlice, *, lines: int = ALL_LINES, colours: bool = True
) -> AsyncIterator[bytes]:
    """Yield the bytes of the slice's last `lines` lines, or all of them.

    Lines are counted as Ray does: a last one without a line break counts.  Where bytes are missing stands a
    line that says so.  Without `colours`, ANSI colour sequences are left out.  There may be no piece at all.
    Raises `Unavailable` or `Denied` as the store does.
    """
    pieces = _all(store, tables, what) if lines == ALL_LINES else _tail(store, tables, what, lines)
    return pieces if colours else without_colours(pieces)


async def _all(store: Store, tables: LogTables, what: LogSlice) -> AsyncGenerator[bytes, None]:
    found = sections.forwards(tables, what.node, what.path, what.start, what.end)
    async with contextlib.aclosing(in_order(found, partial(sections.fetch, store))) as fetched:
        async for _, data in fetched:
            yield data


async def _tail(store: Store, tables: LogTables, what: LogSlice, lines: int) -> AsyncGenerator[bytes, None]:
    """Go backwards until enough line breaks were seen; then yield from there, forwards."""
    head, head_end = b"", what.end
    kept: deque[bytes] = deque()
    kept_bytes, kept_start = 0, what.end
    breaks = -1
    found = sections.backwards(tables, what.node, what.path, what.start, what.end)
    async with contextlib.aclosing(in_order(found, partial(sections.fetch, store))) as fetched:
        async for section, data in fetched:
            if kept_start == head_end and kept_bytes + len(head) <= _KEEP_BYTES:
                kept.appendleft(head)
                kept_bytes, kept_start = kept_bytes + len(head), section.end
            if breaks < 0:
                breaks = lines if data.endswith(b"\n") else lines - 1
            head, head_end = data, section.end
            count = data.count(b"\n")
            if count > breaks:
                head = _after_break(data, breaks)
                break
            breaks -= count
    yield head
    async for data in _all(store, tables, LogSlice(what.node, what.path, head_end, kept_start)):
        yield data
    for data in kept:
        yield data


def _after_break(data: bytes, skipped: int) -> bytes:
    """What follows the line break that has `skipped` line breaks behind it."""
    position = len(data)
    for _ in range(skipped + 1):
        position = data.rfind(b"\n", 0, position)
    return data[position + 1 :]
