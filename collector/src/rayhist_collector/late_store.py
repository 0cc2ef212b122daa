"""An archive that cannot be opened yet: the collector goes on without it, and tries again.

In a pod the alternative is a container that crashes again and again, and a Ray pod that is never ready.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

from rayhist.errors import ConfigError, Denied, PluginError
from rayhist.storage import ObjectInfo, Store


class LateStore(Store):
    """Opens the store when it is needed; until that works, everything is `Denied` and waits in the spool."""

    def __init__(self, location: str, open_store: Callable[[], Store]) -> None:
        self.location = location
        self._open = open_store
        self._opened: Store | None = None

    @property
    def _store(self) -> Store:
        if self._opened is None:
            try:
                self._opened = self._open()
            except (ConfigError, PluginError) as error:
                raise Denied(f"the archive cannot be opened: {error}", remedy=error.remedy) from error
        return self._opened

    async def get(self, key: str, *, start: int = 0, end: int | None = None) -> bytes:
        return await self._store.get(key, start=start, end=end)

    async def put(self, key: str, data: bytes, *, if_absent: bool = False) -> ObjectInfo:
        return await self._store.put(key, data, if_absent=if_absent)

    async def put_file(self, key: str, path: Path) -> ObjectInfo:
        return await self._store.put_file(key, path)

    async def head(self, key: str) -> ObjectInfo:
        return await self._store.head(key)

    async def list_objects(self, prefix: str = "", *, after: str = "") -> AsyncIterator[ObjectInfo]:
        async for info in self._store.list_objects(prefix, after=after):
            yield info

    async def delete(self, key: str) -> None:
        await self._store.delete(key)

    async def identity(self) -> str:
        return await self._store.identity()

    async def close(self) -> None:
        if self._opened is not None:
            await self._opened.close()
