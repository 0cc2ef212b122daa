"""What obstore's listings hold besides objects."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from obstore import ObjectMeta


async def without_placeholders(listing: AsyncIterator[ObjectMeta]) -> AsyncIterator[ObjectMeta]:
    """Leave out the empty objects `folder/` that some tools make for folders.

    obstore takes their slash away, and so one is known only by what follows it: something below it.  One
    that has nothing below it looks like an empty object `folder`.
    """
    held: ObjectMeta | None = None
    async for meta in listing:
        if held is not None and not meta["path"].startswith(f"{held['path']}/"):
            yield held
        held = None
        if meta["size"]:
            yield meta
        else:
            held = meta
    if held is not None:
        yield held
