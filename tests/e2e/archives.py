"""Copying an archive into another store, as it is or as that of another cluster or session."""

from __future__ import annotations

import gzip
import re
import zipfile
from collections.abc import Callable
from io import BytesIO

from rayhist.source import digest_of
from rayhist.storage import Store

Rewrite = Callable[[bytes], bytes]


async def copy(source: Store, target: Store, rewrite: Rewrite | None = None) -> int:
    """Copy every object; `rewrite` changes keys and what is written in the objects.  Returns how many."""
    keys = [info.key async for info in source.list_objects()]
    if rewrite is not None:
        rewrite = await _with_digests(source, keys, rewrite)
    for key in keys:
        data = await source.get(key)
        if rewrite is None:
            await target.put(key, data)
        else:
            await target.put(rewrite(key.encode()).decode(), _rewritten(key, data, rewrite))
    return len(keys)


async def _with_digests(source: Store, keys: list[str], rewrite: Rewrite) -> Rewrite:
    """`rewrite`, which then also changes the digests of the published answers that it changes."""
    digests = {}
    for key in keys:
        if "/fetched_endpoints/" in key:
            body = await source.get(key)
            digests[digest_of(body).encode()] = digest_of(rewrite(body)).encode()
    pattern = re.compile(b"|".join(digests))
    return lambda data: pattern.sub(lambda found: digests[found[0]], rewrite(data))


def _rewritten(key: str, data: bytes, rewrite: Rewrite) -> bytes:
    if key.endswith(".gz"):
        return gzip.compress(rewrite(gzip.decompress(data)), mtime=0)
    if key.endswith(".zip"):
        return _rewritten_pack(data, rewrite)
    return rewrite(data)


def _rewritten_pack(data: bytes, rewrite: Rewrite) -> bytes:
    target = BytesIO()
    with zipfile.ZipFile(BytesIO(data)) as pack, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as made:
        for info in pack.infolist():
            made.writestr(info.filename, rewrite(pack.read(info)))
    return target.getvalue()
