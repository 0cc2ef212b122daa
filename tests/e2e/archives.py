"""Copying an archive into another store, as it is or as that of another cluster or session."""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Callable
from io import BytesIO

from rayhist.storage import Store

Rewrite = Callable[[bytes], bytes]


async def copy(source: Store, target: Store, rewrite: Rewrite = bytes) -> int:
    """Copy every object; `rewrite` changes keys and what is written in the objects.  Returns how many."""
    copied = 0
    async for info in source.list_objects():
        data = await source.get(info.key)
        await target.put(rewrite(info.key.encode()).decode(), _rewritten(info.key, data, rewrite))
        copied += 1
    return copied


def _rewritten(key: str, data: bytes, rewrite: Rewrite) -> bytes:
    if rewrite is bytes:
        return data
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
