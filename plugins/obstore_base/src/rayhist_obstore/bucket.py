"""A bucket as a store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import obstore as obs
from obstore.exceptions import BaseError

from rayhist.errors import Denied, NotFound, RayhistError, Unavailable
from rayhist.storage import (
    CHUNK_BYTES,
    Ability,
    ObjectInfo,
    Store,
    checked_folder,
    checked_key,
    checked_prefix,
)
from rayhist_obstore.dialect import Dialect
from rayhist_obstore.errors import NO_RANGE, Asked, status_of, translated
from rayhist_obstore.listing import without_placeholders
from rayhist_obstore.retry import Attempts, Clients, Retries
from rayhist_obstore.retry_after import RetryAfter

if TYPE_CHECKING:
    from obstore import GetOptions, GetResult, ObjectMeta, PutResult
    from obstore.store import ObjectStore, RetryConfig

_PART_BYTES = 8 * 1024 * 1024
_PARTS_AT_ONCE = 4
_MAX_PARTS = 10_000
"""S3's limit, and the least of all."""
_MAX_OFFSET = 2**62
"""No object is larger; obstore's numbers end at 2⁶⁴."""
_PROBE = "rayhist-no-such-object"
_T = TypeVar("_T")


class BucketStore(Store):
    """Objects of a bucket.  Up to 32 MiB are in memory while a file is uploaded.

    `connect` makes a client of obstore with the credentials of that moment, which repeats as it is told.
    """

    abilities = frozenset({Ability.PUT_IF_ABSENT, Ability.DURABLE})

    def __init__(
        self,
        connect: Callable[[RetryConfig], ObjectStore],
        location: str,
        dialect: Dialect,
        retries: Retries,
        retry_after: RetryAfter | None = None,
    ) -> None:
        self._clients = Clients(connect, retries)
        self._dialect = dialect
        self._retries = retries
        self._retry_after = retry_after or RetryAfter()
        self._bucket_seen = False
        self.location = location

    def _attempts(self) -> Attempts[ObjectStore]:
        return Attempts(self._clients, self._retries, self._retry_after, self._dialect)

    async def _repeating(self, asked: Asked, once: Callable[[ObjectStore], Awaitable[_T]]) -> _T:
        """Do `once` until it succeeds or may not be done again."""
        attempts = self._attempts()
        while True:
            client = self._clients.current
            try:
                with translated(asked, self._dialect):
                    return await once(client)
            except RayhistError as error:
                await attempts.after(error, client, asked)

    async def get(self, key: str, *, start: int = 0, end: int | None = None) -> bytes:
        async def once(client: ObjectStore) -> bytes:
            result = await self._open(client, key, start, end)
            return b"" if result is None else bytes(await result.bytes_async())

        return b"" if await self._is_none(key, start, end) else await self._repeating(Asked(key), once)

    async def stream(
        self, key: str, *, start: int = 0, end: int | None = None, chunk_bytes: int = CHUNK_BYTES
    ) -> AsyncIterator[bytes]:
        """One request; a body that is cut is resumed where it ended, unless the object has changed."""
        if await self._is_none(key, start, end):
            return
        asked, attempts, etag = Asked(key), self._attempts(), None
        while True:
            client = self._clients.current
            try:
                with translated(asked, self._dialect):
                    result = await self._open(client, key, start, end, etag)
                    if result is None:
                        return
                    etag = result.meta["e_tag"]
                    async for piece in result.stream(min_chunk_size=chunk_bytes):
                        start, attempts = start + len(piece), self._attempts()
                        yield bytes(piece)
                    return
            except RayhistError as error:
                await attempts.after(error, client, asked)

    async def _is_none(self, key: str, start: int, end: int | None) -> bool:
        """Whether the object, which has to be there, can have no byte of `[start, end)`."""
        checked_key(key)
        if start < _MAX_OFFSET and (end is None or end > start):
            return False
        await self.head(key)
        return True

    async def _open(
        self, client: ObjectStore, key: str, start: int, end: int | None, etag: str | None = None
    ) -> GetResult | None:
        """The object's bytes `[start, end)`; `None` if there are none of these."""
        options: GetOptions = {}
        if etag is not None:
            options["if_match"] = etag
        if end is not None:
            options["range"] = (start, min(end, _MAX_OFFSET))
        elif start:
            options["range"] = {"offset": start}
        try:
            result = await obs.get_async(client, key, options=options)
        except BaseError as error:
            if status_of(error) == NO_RANGE:
                return None
            raise
        self._check(result.meta)
        return result

    async def put(self, key: str, data: bytes, *, if_absent: bool = False) -> ObjectInfo:
        checked_key(key)
        if if_absent:
            asked = Asked(key, creates=True)
            result = await self._repeating(asked, lambda client: self._create(client, key, data))
        else:
            result = await self._repeating(Asked(key), lambda client: _put(client, key, data))
        return ObjectInfo(key=key, size=len(data), etag=result["e_tag"])

    async def _create(self, client: ObjectStore, key: str, data: bytes) -> PutResult:
        """Write the object; if it is there, raise `AlreadyExistsError` or `PreconditionError` of obstore."""
        return await obs.put_async(client, key, data, mode="create", use_multipart=False)

    async def put_file(self, key: str, path: Path) -> ObjectInfo:
        checked_key(key)
        try:
            size = (await asyncio.to_thread(path.stat)).st_size
        except OSError as error:
            raise NotFound(f"{path}: {error.strerror}") from error

        async def once(client: ObjectStore) -> PutResult:
            in_parts = size > _PART_BYTES
            return await _put(self._clients.for_uploads() if in_parts else client, key, path, size)

        result = await self._repeating(Asked(key), once)
        return ObjectInfo(key=key, size=size, etag=result["e_tag"])

    async def head(self, key: str) -> ObjectInfo:
        async def once(client: ObjectStore) -> ObjectInfo:
            meta = await obs.head_async(client, key)
            self._check(meta)
            return _info(meta)

        checked_key(key)
        try:
            return await self._repeating(Asked(key), once)
        except NotFound:
            if not self._bucket_seen:  # the answer to HEAD has no text that says which of the two is missing
                await self._see_bucket()
            raise

    async def _see_bucket(self, folder: str = "") -> None:
        """Make sure that nothing is there since nothing is there.

        A missing bucket looks like a missing key, and obstore takes any page with status 200, such as a
        console's or a login's, for an empty listing.
        """
        probe = f"{folder}/{_PROBE}" if folder else _PROBE
        try:
            asked = Asked(f"{self.location}/{probe}", may_be_denied=True)
            await self._repeating(asked, lambda client: self._open(client, probe, 0, None))
        except NotFound:
            self._bucket_seen = True
        except Denied:
            return  # so says an S3 server that lets us list only

    def _check(self, meta: ObjectMeta) -> None:
        """Every server gives an object an ETag; a console's or a login's page has none."""
        if meta["e_tag"] is None:
            raise Unavailable(
                f"{self.location}: no {self._dialect.cloud} server answers there", remedy="check endpoint"
            )

    async def list_objects(self, prefix: str = "", *, after: str = "") -> AsyncIterator[ObjectInfo]:
        checked_prefix(prefix)
        if after:
            checked_key(after)
        matched = False
        async for meta in self._objects(self._listing(prefix.rpartition("/")[0], after)):
            if meta["path"].startswith(prefix):
                matched = True
                if meta["path"].encode() > after.encode():
                    yield _info(meta)
            elif matched:  # those that begin with one text stand together
                return

    def _objects(self, listing: AsyncIterator[ObjectMeta]) -> AsyncIterator[ObjectMeta]:
        """Of what a listing holds, the objects."""
        return without_placeholders(listing)

    async def _listing(self, folder: str, after: str) -> AsyncIterator[ObjectMeta]:
        """Everything below a folder: obstore knows no other prefix.  After a failure it goes on."""
        asked, attempts, empty = (
            Asked(f"list of {self.location}/{folder}", lists=True),
            self._attempts(),
            True,
        )
        while True:
            client = self._clients.current
            try:
                with translated(asked, self._dialect):
                    async for page in obs.list(client, folder or None, offset=after or None):
                        for meta in page:
                            if meta["path"] != after:  # a folder's placeholder stands behind its own name
                                yield meta
                            empty, after, attempts = False, meta["path"], self._attempts()
                break
            except RayhistError as error:
                await attempts.after(error, client, asked)
        if empty:
            await self._see_bucket(folder)

    async def list_folders(self, prefix: str = "") -> list[str]:
        folder = checked_folder(prefix).removesuffix("/")
        found = await self._repeating(
            Asked(f"list of {self.location}/{folder}", lists=True),
            lambda client: obs.list_with_delimiter_async(client, folder or None),
        )
        if not found["common_prefixes"] and not found["objects"]:
            await self._see_bucket(folder)
        return sorted((path[len(prefix) :] for path in found["common_prefixes"]), key=str.encode)

    async def delete(self, key: str) -> None:
        await self.delete_many([key])

    async def delete_many(self, keys: Iterable[str]) -> None:
        checked = [checked_key(key) for key in keys]
        if not checked:
            return
        try:
            await self._repeating(
                Asked(f"deletion of {checked[0]}"), lambda client: obs.delete_async(client, checked)
            )
        except NotFound:  # some servers say so of one that is missing; it may have ended the whole request
            if len(checked) > 1:
                for key in checked:
                    await self.delete(key)


async def _put(client: ObjectStore, key: str, data: Any, size: int = 0) -> PutResult:
    """Write bytes, or a file of so many bytes, in parts where it is long."""
    return await obs.put_async(
        client,
        key,
        data,
        chunk_size=max(_PART_BYTES, size // _MAX_PARTS + 1),
        max_concurrency=_PARTS_AT_ONCE,
    )


def _info(meta: ObjectMeta) -> ObjectInfo:
    return ObjectInfo(key=meta["path"], size=meta["size"], modified=meta["last_modified"], etag=meta["e_tag"])
