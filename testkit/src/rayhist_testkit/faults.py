"""Stores that are slow, that fail now and then, or that cut an object short."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec

from rayhist.clock import Clock
from rayhist.errors import Unavailable
from rayhist.storage import ObjectInfo, Store


class WrappedStore(Store):
    """Another store, with something before each of its operations."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.abilities = store.abilities
        self.location = store.location

    async def before(self, operation: str, key: str) -> None:
        """Called with the method's name and the key or prefix before each operation."""

    async def get(self, key: str, *, start: int = 0, end: int | None = None) -> bytes:
        await self.before("get", key)
        return await self._store.get(key, start=start, end=end)

    async def put(self, key: str, data: bytes, *, if_absent: bool = False) -> ObjectInfo:
        await self.before("put", key)
        return await self._store.put(key, data, if_absent=if_absent)

    async def put_file(self, key: str, path: Path) -> ObjectInfo:
        await self.before("put_file", key)
        return await self._store.put_file(key, path)

    async def head(self, key: str) -> ObjectInfo:
        await self.before("head", key)
        return await self._store.head(key)

    async def list_objects(self, prefix: str = "", *, after: str = "") -> AsyncIterator[ObjectInfo]:
        await self.before("list_objects", prefix)
        async for info in self._store.list_objects(prefix, after=after):
            yield info

    async def list_folders(self, prefix: str = "") -> list[str]:
        await self.before("list_folders", prefix)
        return await self._store.list_folders(prefix)

    async def delete(self, key: str) -> None:
        await self.before("delete", key)
        await self._store.delete(key)

    async def identity(self) -> str:
        return await self._store.identity()

    async def close(self) -> None:
        await self._store.close()


class SlowStore(WrappedStore):
    """Every operation takes so many seconds more, by a clock that may be a test's own."""

    def __init__(self, store: Store, clock: Clock, seconds: float) -> None:
        super().__init__(store)
        self._clock = clock
        self._seconds = seconds

    async def before(self, operation: str, key: str) -> None:  # noqa: ARG002 - all are equally slow
        await self._clock.sleep(self._seconds)


class FlakyStore(WrappedStore):
    """Every `every`th operation raises `Unavailable`; with 1 it is an outage, with 0 none fails."""

    def __init__(self, store: Store, *, every: int) -> None:
        super().__init__(store)
        self.every = every
        self.calls = 0

    async def before(self, operation: str, key: str) -> None:
        self.calls += 1
        if self.every and self.calls % self.every == 0:
            raise Unavailable(f"{operation} {key}: the store does not answer (call {self.calls})")


class TruncatingStore(WrappedStore):
    """Objects whose key contains `part` end after `keep` bytes, as if their upload had been cut."""

    def __init__(self, store: Store, *, part: str, keep: int) -> None:
        super().__init__(store)
        self._part = part
        self._keep = keep

    async def get(self, key: str, *, start: int = 0, end: int | None = None) -> bytes:
        if self._part in key:
            end = self._keep if end is None else min(end, self._keep)
        return await self._store.get(key, start=start, end=end)

    async def head(self, key: str) -> ObjectInfo:
        return self._cut(await self._store.head(key))

    async def list_objects(self, prefix: str = "", *, after: str = "") -> AsyncIterator[ObjectInfo]:
        async for info in self._store.list_objects(prefix, after=after):
            yield self._cut(info)

    def _cut(self, info: ObjectInfo) -> ObjectInfo:
        if self._part not in info.key:
            return info
        return msgspec.structs.replace(info, size=min(info.size, self._keep))
