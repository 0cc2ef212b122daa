"""A bucket as a store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import obstore as obs
from obstore.exceptions import BaseError
from obstore.store import S3Store

from rayhist.errors import Denied, NotFound, Unavailable
from rayhist.storage import (
    CHUNK_BYTES,
    Ability,
    ObjectInfo,
    Store,
    checked_folder,
    checked_key,
    checked_prefix,
)
from rayhist_storage_s3.errors import NO_RANGE, status_of, translated
from rayhist_storage_s3.listing import without_placeholders

if TYPE_CHECKING:
    from obstore import GetOptions, GetResult, ObjectMeta

_PART_BYTES = 8 * 1024 * 1024
_PARTS_AT_ONCE = 4
_MAX_PARTS = 10_000
"""S3's limit."""
_MAX_OFFSET = 2**62
"""No object is larger; obstore's numbers end at 2⁶⁴."""
_PROBE = "rayhist-no-such-object"


class BucketStore(Store):
    """Objects of a bucket.  Up to 32 MiB are in memory while a file is uploaded."""

    abilities = frozenset({Ability.PUT_IF_ABSENT, Ability.DURABLE})

    def __init__(self, client: S3Store, location: str) -> None:
        self._client = client
        self._bucket_seen = False
        self.location = location

    async def get(self, key: str, *, start: int = 0, end: int | None = None) -> bytes:
        result = await self._open(key, start, end)
        if result is None:
            return b""
        with translated(key):
            return bytes(await result.bytes_async())

    async def stream(
        self, key: str, *, start: int = 0, end: int | None = None, chunk_bytes: int = CHUNK_BYTES
    ) -> AsyncIterator[bytes]:
        """One request; a body that is cut is resumed where it ended."""
        result = await self._open(key, start, end)
        if result is not None:
            with translated(key):
                async for piece in result.stream(min_chunk_size=chunk_bytes):
                    yield bytes(piece)

    async def _open(self, key: str, start: int, end: int | None) -> GetResult | None:
        """The object's bytes `[start, end)`; `None` if there are none of these."""
        checked_key(key)
        if start >= _MAX_OFFSET or (end is not None and end <= start):
            await self.head(key)
            return None
        options: GetOptions = {}
        if end is not None:
            options["range"] = (start, min(end, _MAX_OFFSET))
        elif start:
            options["range"] = {"offset": start}
        with translated(key):
            try:
                result = await obs.get_async(self._client, key, options=options)
            except BaseError as error:
                if status_of(error) == NO_RANGE:
                    return None
                raise
        self._check(result.meta)
        return result

    async def put(self, key: str, data: bytes, *, if_absent: bool = False) -> ObjectInfo:
        mode = "create" if if_absent else "overwrite"
        with translated(checked_key(key)):
            result = await obs.put_async(
                self._client,
                key,
                data,
                mode=mode,  # type: ignore[arg-type]
                chunk_size=_PART_BYTES,
                max_concurrency=_PARTS_AT_ONCE,
            )
        return ObjectInfo(key=key, size=len(data), etag=result["e_tag"])

    async def put_file(self, key: str, path: Path) -> ObjectInfo:
        checked_key(key)
        try:
            size = (await asyncio.to_thread(path.stat)).st_size
        except OSError as error:
            raise NotFound(f"{path}: {error.strerror}") from error
        with translated(key):
            result = await obs.put_async(
                self._client,
                key,
                path,
                chunk_size=max(_PART_BYTES, size // _MAX_PARTS + 1),
                max_concurrency=_PARTS_AT_ONCE,
            )
        return ObjectInfo(key=key, size=size, etag=result["e_tag"])

    async def head(self, key: str) -> ObjectInfo:
        try:
            with translated(checked_key(key)):
                meta = await obs.head_async(self._client, key)
            self._check(meta)
            return _info(meta)
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
            with translated(f"{self.location}/{probe}"):
                result = await obs.get_async(self._client, probe)
            self._check(result.meta)
        except NotFound:
            self._bucket_seen = True
        except Denied:
            return  # so says an S3 server that lets us list only

    def _check(self, meta: ObjectMeta) -> None:
        """Every S3 server gives an object an ETag; a console's or a login's page has none."""
        if meta["e_tag"] is None:
            raise Unavailable(f"{self.location}: no S3 server answers there", remedy="check endpoint")

    async def list_objects(self, prefix: str = "", *, after: str = "") -> AsyncIterator[ObjectInfo]:
        checked_prefix(prefix)
        if after:
            checked_key(after)
        matched = False
        async for meta in without_placeholders(self._listing(prefix.rpartition("/")[0], after)):
            if meta["path"].startswith(prefix):
                matched = True
                if meta["path"].encode() > after.encode():
                    yield _info(meta)
            elif matched:  # those that begin with one text stand together
                return

    async def _listing(self, folder: str, after: str) -> AsyncIterator[ObjectMeta]:
        """Everything below a folder: obstore knows no other prefix."""
        empty = True
        with translated(f"list of {self.location}/{folder}"):
            async for page in obs.list(self._client, folder or None, offset=after or None):
                for meta in page:
                    empty = False
                    yield meta
        if empty:
            await self._see_bucket(folder)

    async def list_folders(self, prefix: str = "") -> list[str]:
        folder = checked_folder(prefix).removesuffix("/")
        with translated(f"list of {self.location}/{folder}"):
            found = await obs.list_with_delimiter_async(self._client, folder or None)
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
            with translated(f"deletion of {checked[0]}"):
                await obs.delete_async(self._client, checked)
        except NotFound:  # some servers say so of one that is missing; it may have ended the whole request
            if len(checked) > 1:
                for key in checked:
                    await self.delete(key)


def _info(meta: ObjectMeta) -> ObjectInfo:
    return ObjectInfo(key=meta["path"], size=meta["size"], modified=meta["last_modified"], etag=meta["e_tag"])
