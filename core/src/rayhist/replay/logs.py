"""Which bytes of which log file stand where: from log packs and whole files to the index."""

from __future__ import annotations

from rayhist.index import IndexWriter
from rayhist.replay.context import Context
from rayhist.replay.inventory import Inventory
from rayhist.storage import Store


async def index(
    store: Store, inventory: Inventory, context: Context, writer: IndexWriter, damaged: dict[str, str]
) -> None:
    """Write the log files of every node; what cannot be read goes into `damaged`, by key."""
