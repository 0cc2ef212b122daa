"""A bucket of OSS as a store: what differs from S3."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

import obstore as obs

from rayhist.storage import CHUNK_BYTES
from rayhist_obstore.bucket import BucketStore
from rayhist_obstore.errors import Asked
from rayhist_storage_oss.credentials import Credentials

if TYPE_CHECKING:
    from obstore import ObjectMeta, PutResult
    from obstore.store import ObjectStore

_T = TypeVar("_T")


class OssStore(BucketStore):
    """Create-only is a header of OSS's own, since it refuses conditional writes (501).

    Credentials are there before a request is made: what obstore raises of a provider has neither type nor
    remedy.
    """

    def __init__(
        self, *shared: Any, credentials: Credentials | None, creating: Callable[[], ObjectStore]
    ) -> None:
        """`creating` makes a client that sends `x-oss-forbid-overwrite` with each request."""
        super().__init__(*shared)
        self._credentials = credentials
        self._creating = creating
        self._pair: tuple[ObjectStore, ObjectStore] | None = None

    async def identity(self) -> str:
        if self._credentials is None:
            return "nobody: anonymous access"
        await self._credentials.ready()
        return self._credentials.description

    async def _repeating(self, asked: Asked, once: Callable[[ObjectStore], Awaitable[_T]]) -> _T:
        await self._ready()
        return await super()._repeating(asked, once)

    async def stream(
        self, key: str, *, start: int = 0, end: int | None = None, chunk_bytes: int = CHUNK_BYTES
    ) -> AsyncIterator[bytes]:
        await self._ready()
        async for piece in super().stream(key, start=start, end=end, chunk_bytes=chunk_bytes):
            yield piece

    async def _listing(self, folder: str, after: str) -> AsyncIterator[ObjectMeta]:
        await self._ready()
        async for meta in super()._listing(folder, after):
            yield meta

    async def _create(self, client: ObjectStore, key: str, data: bytes) -> PutResult:
        """OSS answers 409 `FileAlreadyExists`, of which obstore makes `AlreadyExistsError`."""
        if self._pair is None or self._pair[0] is not client:  # credentials were renewed
            self._pair = client, self._creating()
        return await obs.put_async(self._pair[1], key, data, use_multipart=False)

    async def _ready(self) -> None:
        if self._credentials is not None:
            await self._credentials.ready()
