"""The `memory` store: a dictionary, for trials and tests.  `memory:` or `memory://name`.

Stores of one name are one store within a process; an unnamed one is always new.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from rayhist.errors import Exists, NotFound
from rayhist.hookspecs import hookimpl
from rayhist.kinds import StorageKind
from rayhist.storage import Ability, ObjectInfo, Store, checked_key, checked_prefix


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `memory` store has no options."""


class MemoryStore(Store):
    abilities = frozenset({Ability.PUT_IF_ABSENT})

    def __init__(self, name: str = "") -> None:
        self._objects: dict[str, tuple[ObjectInfo, bytes]] = {}
        self.location = f"memory://{name}"

    async def get(self, key: str, *, start: int = 0, end: int | None = None) -> bytes:
        return self._find(key)[1][start:end]

    async def put(self, key: str, data: bytes, *, if_absent: bool = False) -> ObjectInfo:
        if if_absent and checked_key(key) in self._objects:
            raise Exists(f"{key}: exists already")
        digest = hashlib.blake2b(data, digest_size=16).hexdigest()
        info = ObjectInfo(key=checked_key(key), size=len(data), modified=datetime.now(UTC), etag=digest)
        self._objects[key] = (info, bytes(data))
        return info

    async def put_file(self, key: str, path: Path) -> ObjectInfo:
        try:
            data = path.read_bytes()  # noqa: ASYNC240 - it all stays in memory anyway
        except OSError as error:
            raise NotFound(f"{path}: {error.strerror}") from error
        return await self.put(key, data)

    async def head(self, key: str) -> ObjectInfo:
        return self._find(key)[0]

    async def list_objects(self, prefix: str = "", *, after: str = "") -> AsyncIterator[ObjectInfo]:
        checked_prefix(prefix)
        first = (after and checked_key(after)).encode()
        for key in sorted(self._objects, key=str.encode):
            if key.startswith(prefix) and key.encode() > first and key in self._objects:
                yield self._objects[key][0]

    async def delete(self, key: str) -> None:
        self._objects.pop(checked_key(key), None)

    def _find(self, key: str) -> tuple[ObjectInfo, bytes]:
        try:
            return self._objects[checked_key(key)]
        except KeyError:
            raise NotFound(f"{key}: no such object in {self.location}") from None


_named: dict[str, MemoryStore] = {}


def open_store(url: str, _options: Options) -> Store:
    name = urlsplit(url).netloc
    return _named.setdefault(name, MemoryStore(name)) if name else MemoryStore()


@hookimpl
def rayhist_storage() -> StorageKind:
    return StorageKind(api=1, name="memory", schemes=("memory",), options=Options, open=open_store)
