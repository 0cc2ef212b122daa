"""What a storage backend is: an object store with keys, ranges and ordered listing.

A backend implements six methods of `Store`; the others have defaults in terms of those and may be
overridden where the backend can do better.  Everything is async; a blocking SDK derives from
`ThreadedStore` instead and writes plain functions.  Only the errors of `rayhist.errors` leave a store.

Keys are relative to the store's root, separated by `/`, and never begin or end with one.  Every operation
refuses a key that `checked_key` refuses, a prefix that `checked_prefix` refuses, and so on, with
`BadIdentifier`; `ThreadedStore` does that by itself.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec

from rayhist import ids
from rayhist.errors import BadIdentifier, NotFound

CHUNK_BYTES = 1024 * 1024
_T = TypeVar("_T")


class Ability(StrEnum):
    """What a store can do beyond the basics.  The contract tests read it from the store."""

    PUT_IF_ABSENT = "put-if-absent"
    """`put(..., if_absent=True)`: of any number of writers at once, one wins and the others get `Exists`."""
    DURABLE = "durable"
    """What was written is still there after a restart of everything."""


class ObjectInfo(msgspec.Struct, frozen=True):
    """What a listing says of one object: key, size in bytes, time of the last change (UTC), ETag."""

    key: str
    size: int
    modified: datetime | None = None
    etag: str | None = None


def checked_key(key: str) -> str:
    """Return `key` if it may name an object, else raise `BadIdentifier`."""
    return ids.object_key(key)


def checked_prefix(prefix: str) -> str:
    """Return `prefix` if it is empty or a key, with or without a `/` behind, else raise `BadIdentifier`."""
    if prefix:
        ids.object_key(prefix.removesuffix("/"))
    return prefix


def checked_folder(prefix: str) -> str:
    """Return `prefix` if it is empty or a key with a `/` behind it, else raise `BadIdentifier`."""
    if prefix and not prefix.endswith("/"):
        raise BadIdentifier(f"not a folder: {prefix!r}", remedy="a folder's prefix ends in '/'")
    return checked_prefix(prefix)


class Store(ABC):
    """An opened store.  It is an async context manager; leaving it closes it."""

    abilities: frozenset[Ability] = frozenset()
    location: str = ""
    """What to call this store in messages: its URL, without secrets."""

    @abstractmethod
    async def get(self, key: str, *, start: int = 0, end: int | None = None) -> bytes:
        """Return the bytes `[start, end)`; an `end` beyond the object is cut, a `start` beyond it is `b""`.

        `start` is not negative.  Raises `NotFound` if there is no such object, whatever the range.
        """

    @abstractmethod
    async def put(self, key: str, data: bytes, *, if_absent: bool = False) -> ObjectInfo:
        """Write the whole object or nothing.  With `if_absent`, raise `Exists` if the key is taken."""

    @abstractmethod
    async def put_file(self, key: str, path: Path) -> ObjectInfo:
        """Write the file's bytes as one object, in constant memory.

        Raises `NotFound` if there is no such file.
        """

    @abstractmethod
    async def head(self, key: str) -> ObjectInfo:
        """Raises `NotFound` if there is no such object."""

    @abstractmethod
    def list_objects(self, prefix: str = "", *, after: str = "") -> AsyncIterator[ObjectInfo]:
        """Yield the objects whose key starts with the text `prefix`, in byte order of their keys.

        `after` leaves out the keys up to and including it.  "Directory" placeholders are left out.
        """

    @abstractmethod
    async def delete(self, key: str) -> None:
        """Remove the object; a missing one is no error."""

    async def list_folders(self, prefix: str = "") -> list[str]:
        """Return the distinct next path parts below `prefix` (empty, or ending in `/`), in byte order."""
        names = set()
        checked_folder(prefix)
        async for info in self.list_objects(prefix):
            name, slash, _ = info.key[len(prefix) :].partition("/")
            if slash:
                names.add(name)
        return sorted(names, key=str.encode)

    async def exists(self, key: str) -> bool:
        try:
            await self.head(key)
        except NotFound:
            return False
        return True

    async def stream(
        self, key: str, *, start: int = 0, end: int | None = None, chunk_bytes: int = CHUNK_BYTES
    ) -> AsyncIterator[bytes]:
        """Yield the bytes `[start, end)` in pieces, in constant memory.

        Raises `NotFound` if there is no such object.
        """
        while True:
            stop = start + chunk_bytes if end is None else min(start + chunk_bytes, end)
            piece = await self.get(key, start=start, end=stop)
            if piece:
                yield piece
            if stop == end or len(piece) < chunk_bytes:
                return
            start = stop

    async def delete_many(self, keys: Iterable[str]) -> None:
        for key in keys:
            await self.delete(key)

    async def identity(self) -> str:
        """Say in one line, without secrets, as whom this store acts and where that was found.

        Empty if it needs to be nobody.  It may have to ask for credentials, and fails as any other operation
        does.  `rayhist doctor` shows it.
        """
        return ""

    async def close(self) -> None:  # noqa: B027 - most stores have nothing to close
        """Let go of connections.  Called once."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


async def _to_its_end(work: Callable[..., _T], *arguments: Any) -> _T:
    """Run on a thread, which nothing stops: who cancels waits, or it would write over what comes next."""
    running = asyncio.ensure_future(asyncio.to_thread(work, *arguments))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        running.exception()  # nobody is left to hear of it
        raise


class ThreadedStore(Store):
    """A store over a blocking SDK: implement the `_…` methods, and they run on threads with checked keys.

    A write that is cancelled ends first.
    """

    async def get(self, key: str, *, start: int = 0, end: int | None = None) -> bytes:
        return await asyncio.to_thread(self._get, checked_key(key), start, end)

    async def put(self, key: str, data: bytes, *, if_absent: bool = False) -> ObjectInfo:
        return await _to_its_end(self._put, checked_key(key), data, if_absent)

    async def put_file(self, key: str, path: Path) -> ObjectInfo:
        return await _to_its_end(self._put_file, checked_key(key), path)

    async def head(self, key: str) -> ObjectInfo:
        return await asyncio.to_thread(self._head, checked_key(key))

    async def delete(self, key: str) -> None:
        await _to_its_end(self._delete, checked_key(key))

    async def list_objects(self, prefix: str = "", *, after: str = "") -> AsyncIterator[ObjectInfo]:
        checked_prefix(prefix)
        if after:
            checked_key(after)
        while page := await asyncio.to_thread(self._list_page, prefix, after):
            for info in page:
                yield info
            after = page[-1].key

    @abstractmethod
    def _get(self, key: str, start: int, end: int | None) -> bytes: ...

    @abstractmethod
    def _put(self, key: str, data: bytes, if_absent: bool) -> ObjectInfo: ...

    @abstractmethod
    def _put_file(self, key: str, path: Path) -> ObjectInfo: ...

    @abstractmethod
    def _head(self, key: str) -> ObjectInfo: ...

    @abstractmethod
    def _delete(self, key: str) -> None: ...

    @abstractmethod
    def _list_page(self, prefix: str, after: str) -> list[ObjectInfo]:
        """Return the next objects after the key `after`, in order; an empty list ends the listing."""


class Prefixed(Store):
    """A view of another store below a folder, so that two roots in one bucket never meet."""

    def __init__(self, store: Store, folder: str) -> None:
        self._store = store
        self._prefix = checked_key(folder.strip("/")) + "/"
        self.abilities = store.abilities
        self.location = f"{store.location.rstrip('/')}/{self._prefix[:-1]}"

    def _outer(self, key: str) -> str:
        return self._prefix + key

    def _inner(self, info: ObjectInfo) -> ObjectInfo:
        return msgspec.structs.replace(info, key=info.key[len(self._prefix) :])

    async def get(self, key: str, *, start: int = 0, end: int | None = None) -> bytes:
        return await self._store.get(self._outer(key), start=start, end=end)

    async def put(self, key: str, data: bytes, *, if_absent: bool = False) -> ObjectInfo:
        return self._inner(await self._store.put(self._outer(key), data, if_absent=if_absent))

    async def put_file(self, key: str, path: Path) -> ObjectInfo:
        return self._inner(await self._store.put_file(self._outer(key), path))

    async def head(self, key: str) -> ObjectInfo:
        return self._inner(await self._store.head(self._outer(key)))

    async def list_objects(self, prefix: str = "", *, after: str = "") -> AsyncIterator[ObjectInfo]:
        outer_after = self._outer(after) if after else ""
        async for info in self._store.list_objects(self._outer(prefix), after=outer_after):
            yield self._inner(info)

    async def list_folders(self, prefix: str = "") -> list[str]:
        return await self._store.list_folders(self._outer(prefix))

    async def exists(self, key: str) -> bool:
        return await self._store.exists(self._outer(key))

    def stream(
        self, key: str, *, start: int = 0, end: int | None = None, chunk_bytes: int = CHUNK_BYTES
    ) -> AsyncIterator[bytes]:
        return self._store.stream(self._outer(key), start=start, end=end, chunk_bytes=chunk_bytes)

    async def delete(self, key: str) -> None:
        await self._store.delete(self._outer(key))

    async def delete_many(self, keys: Iterable[str]) -> None:
        await self._store.delete_many([self._outer(key) for key in keys])

    async def identity(self) -> str:
        return await self._store.identity()

    async def close(self) -> None:
        await self._store.close()
