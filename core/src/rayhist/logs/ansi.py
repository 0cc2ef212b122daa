"""Take the colours out of a log: `filter_ansi_code=true` of Ray's log API.

Ray 2.60 removes what `ANSI_ESC_PATTERN` of `ray.dashboard.modules.state.state_head` matches, and does so in
each chunk of 64 KiB by itself, so that a sequence cut by a chunk's end stays.  Here none stays.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

_COLOUR = re.compile(rb"\x1b\[[(0-9);]+m")
_BEGUN = re.compile(rb"\x1b(?:\[[(0-9);]{0,64})?\Z")
"""The beginning of a sequence at the end of a piece.  No terminal knows a longer one."""


async def without_colours(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the bytes without colour sequences, however they were cut into pieces."""
    held = b""
    async for piece in pieces:
        text = held + piece
        begun = _BEGUN.search(text, max(0, len(text) - 70))
        held = begun[0] if begun else b""
        if rest := _COLOUR.sub(b"", text[: len(text) - len(held)]):
            yield rest
    if held:
        yield held
