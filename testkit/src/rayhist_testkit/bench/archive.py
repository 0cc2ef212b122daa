"""What is in the archive that a collector of this bench filled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec

from rayhist import codec, layout
from rayhist.errors import BadIdentifier
from rayhist.plugins import Plugins, options_of
from rayhist.storage import ObjectInfo, Store


class _Id(msgspec.Struct, rename="camel"):
    event_id: str


class Archive:
    """`storage` as in a configuration: a URL and options."""

    def __init__(self, storage: Mapping[str, Any]) -> None:
        self._kind = Plugins.discover().storage_for(storage["url"])
        self._url = storage["url"]
        self._options = options_of(self._kind, storage.get("options", {}), "$.storage.options")

    def log_writes(self, cluster: str) -> set[tuple[str, object]]:
        """Key and time of the last change of each log pack and whole log file."""
        return asyncio.run(self._log_writes(cluster))

    async def _log_writes(self, cluster: str) -> set[tuple[str, object]]:
        async with self._open() as store:
            return {
                (info.key, info.modified)
                async for info, reference in _references(store, cluster)
                if isinstance(reference, layout.LogPack | layout.LogFile)
            }

    def events(self, cluster: str) -> tuple[int, int, int]:
        """How many events there are, how many different ones, and the bytes of their objects."""
        return asyncio.run(self._events(cluster))

    async def _events(self, cluster: str) -> tuple[int, int, int]:
        lines, stored = 0, 0
        ids: set[int] = set()
        async with self._open() as store:
            async for info, reference in _references(store, cluster):
                if isinstance(reference, layout.EventFile):
                    data = await store.get(info.key)
                    stored += len(data)
                    for line in codec.decode(data, codec.Damage()):
                        lines += 1
                        ids.add(hash(msgspec.json.decode(line, type=_Id).event_id))
        return lines, len(ids), stored

    def _open(self) -> Store:
        return self._kind.open(self._url, self._options)


async def _references(store: Store, cluster: str) -> AsyncIterator[tuple[ObjectInfo, layout.Reference]]:
    async for info in store.list_objects("cluster-history/"):
        try:
            reference = layout.parse(info.key)
        except BadIdentifier:
            continue
        if f"/{cluster}/" in info.key:
            yield info, reference
