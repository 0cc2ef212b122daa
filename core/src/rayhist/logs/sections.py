"""A stretch of a log file as sections that are fetched one by one; what is missing is a section too."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import msgspec

from rayhist import logpack
from rayhist.errors import DataError, NotFound
from rayhist.index import LogRange, LogTables
from rayhist.storage import Store

BLOCK_BYTES = 256 * 1024
"""How much of a whole file is fetched at once."""
_PAGE = 1000

NEVER_RECORDED = "they were not recorded, or their part of the archive is damaged"


class Section(msgspec.Struct, frozen=True):
    """Bytes `[start, end)` of a log file, and the range they are in; `None` if they are missing."""

    start: int
    end: int
    source: LogRange | None


def forwards(tables: LogTables, node: str, path: str, start: int, end: int) -> Iterator[Section]:
    """The sections of `[start, end)`, without a hole between them."""
    position = start
    while position < end and (page := tables.log_ranges(node, path, position, end, limit=_PAGE)):
        for one in page:
            if one.start > position:
                yield Section(position, one.start, None)
            begin, position = max(position, one.start), min(one.end, end)
            size = _block_size(one)
            for block in range(begin, position, size):
                yield Section(block, min(block + size, position), one)
    if position < end:
        yield Section(position, end, None)


def backwards(tables: LogTables, node: str, path: str, start: int, end: int) -> Iterator[Section]:
    """The same stretch from its end to its start; each section is read forwards."""
    position = end
    while position > start and (
        page := tables.log_ranges(node, path, start, position, limit=_PAGE, backwards=True)
    ):
        for one in page:
            if one.end < position:
                yield Section(one.end, position, None)
            stop, position = min(position, one.end), max(one.start, start)
            size = _block_size(one)
            for block in range(stop, position, -size):
                yield Section(max(block - size, position), block, one)
    if position > start:
        yield Section(start, position, None)


def _block_size(source: LogRange) -> int:
    """A pack's range is fetched as it is; a whole file in blocks."""
    return BLOCK_BYTES if source.member is None else source.end - source.start


async def fetch(store: Store, section: Section) -> bytes:
    """The section's bytes; for those that are missing or damaged, a line that says so.

    Raises `Unavailable` or `Denied` as the store does: an outage is no hole in a log.
    """
    if section.source is None:
        return notice(section.end - section.start, NEVER_RECORDED)
    try:
        return await _bytes(store, section, section.source)
    except (DataError, NotFound) as error:
        return notice(section.end - section.start, str(error))


async def _bytes(store: Store, section: Section, source: LogRange) -> bytes:
    wanted = section.end - section.start
    if source.member is None:
        offset = section.start - source.start
        data = await store.get(source.key, start=offset, end=offset + wanted)
        lost = wanted - len(data)
        return data + notice(lost, f"{source.key} became shorter") if lost else data
    entry = msgspec.json.decode(source.member, type=logpack.RangeEntry)
    first, last = logpack.member_span(entry)
    span = await store.get(source.key, start=first, end=last)
    data = await asyncio.to_thread(logpack.read_member, span, entry, source.key)
    offset = section.start - entry.start
    return data[offset : offset + wanted]


def notice(count: int, reason: str) -> bytes:
    """The line that stands where bytes are missing."""
    return f"\n[ray history: {count} bytes are missing here: {reason}]\n".encode()
