"""Which bytes of which log file stand where: from log packs and whole files to the index."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncGenerator

from rayhist import layout
from rayhist.ahead import in_order
from rayhist.errors import DataError, NotFound
from rayhist.index import IndexWriter, LogTables
from rayhist.logpack import Table
from rayhist.logs.reading import read
from rayhist.logs.slices import LogSlice
from rayhist.replay.inventory import Inventory, Item
from rayhist.replay.logs_generations import NodeFiles
from rayhist.replay.logs_tables import read_table
from rayhist.storage import Store

_MAX_SMALL_BYTES = 256 * 1024 * 1024
"""Ray rotates the files that replay reads at 100 MB."""


async def index(store: Store, inventory: Inventory, writer: IndexWriter, damaged: dict[str, str]) -> None:
    """Write the log files of every node; what cannot be read goes into `damaged`, by key.

    Of a pack only the table is read.  The memory this takes is that of one node's tables.
    """
    nodes = _whole_files(inventory)
    previous = ""

    async def table(item: Item) -> Table | None:
        try:
            return await read_table(store, item.info)
        except (DataError, NotFound) as error:
            damaged[item.info.key] = str(error)
            return None

    async with contextlib.aclosing(in_order(inventory.log_packs, table)) as tables:
        async for item, found in tables:  # in the order of their keys, so node by node
            assert isinstance(item.reference, layout.LogPack)
            node = item.reference.node
            if previous not in {node, ""}:
                await asyncio.to_thread(_write, nodes.pop(previous), writer)
            previous = node
            files = nodes.setdefault(node, NodeFiles(node))
            if found is not None:
                files.add_pack(item.info.key, item.reference.first_ms, found)
    for files in nodes.values():
        await asyncio.to_thread(_write, files, writer)


def _whole_files(inventory: Inventory) -> dict[str, NodeFiles]:
    nodes: dict[str, NodeFiles] = {}
    for item in inventory.log_files:
        assert isinstance(item.reference, layout.LogFile)
        node, info = item.reference.node, item.info
        written_ms = int(info.modified.timestamp() * 1000) if info.modified else 0
        files = nodes.setdefault(node, NodeFiles(node))
        files.add_file(item.reference.path, info.key, info.size, written_ms)
    return nodes


def _write(files: NodeFiles, writer: IndexWriter) -> None:
    for row, ranges in files.files():
        writer.log_file(row, ranges)


def slices(tables: LogTables, wanted: re.Pattern[str]) -> list[LogSlice]:
    """The log files of all nodes whose paths match, each whole: by node and path, rotated ones first."""
    found = [
        LogSlice(node, file.path, 0, file.size)
        for node in tables.log_nodes()
        for file in tables.log_files(node)
        if wanted.match(file.path)
    ]
    return sorted(found, key=_oldest_first)


_ROTATED = re.compile(r"(.*?)(?:\.([0-9]{1,6}))?\Z", re.DOTALL)


def _oldest_first(one: LogSlice) -> tuple[str, str, int]:
    match = _ROTATED.match(one.path)
    assert match is not None
    return one.node, match[1], -int(match[2] or 0)


async def read_small(
    store: Store, tables: LogTables, wanted: re.Pattern[str], problems: list[str]
) -> AsyncGenerator[tuple[LogSlice, bytes], None]:
    """Yield the content of every log file whose path matches, in the order of `slices`.

    A file of more than 256 MiB is left out; `problems` gets a sentence that says so.
    """
    for one in slices(tables, wanted):
        if one.end > _MAX_SMALL_BYTES:
            problems.append(f"{one.path} of node {one.node} was not read: it has {one.end} bytes.")
            continue
        yield one, b"".join([piece async for piece in read(store, tables, one)])
