"""JSON lines ⇄ bytes: framing, gzip, and what can still be read of a broken file.

An event or snapshot file is one JSON value per line, gzip'd or not.  KubeRay's older event files are one
JSON array; the first byte tells.  A torn last line or a gzip tail that was cut costs just that line.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain

import msgspec

from rayhist.errors import DataError

GZIP_MAGIC = b"\x1f\x8b"
MAX_LINE_BYTES = 64 * 1024 * 1024
"""A longer line is skipped."""
MAX_ARRAY_BYTES = 1024 * 1024 * 1024
"""A longer array is not read: all of it would have to be in memory."""
_PIECE = 256 * 1024
_INFLATED = 1024 * 1024
_BROKEN = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Damage(msgspec.Struct):
    """What could not be read of one file; `reason` is empty when everything could."""

    lines: int = 0
    reason: str = ""

    def note(self, reason: str) -> None:
        self.lines += 1
        self.reason = self.reason or reason


def encode(lines: Iterable[bytes], *, level: int = 6) -> bytes:
    """Frame values (without line breaks in them) as gzip'd JSON lines."""
    body = b"".join(line + b"\n" for line in lines)
    return gzip.compress(body, compresslevel=level, mtime=0)


def decode(data: bytes, damage: Damage) -> Iterator[bytes]:
    """Yield the values of a file, each the bytes of one JSON value; what is broken goes into `damage`.

    Lines are not validated here: their reader does that as it decodes them.
    """
    pieces = _inflate(data, damage) if data.startswith(GZIP_MAGIC) else _cut(data)
    first = next(pieces, b"")
    if first.lstrip()[:1] == b"[":
        yield from _array(chain([first], pieces), damage)
    else:
        yield from _lines(chain([first], pieces), damage)


def _cut(data: bytes) -> Iterator[bytes]:
    return (data[start : start + _INFLATED] for start in range(0, len(data), _INFLATED))


def _inflate(data: bytes, damage: Damage) -> Iterator[bytes]:
    """Inflate member after member; a file that was appended to by restarts has several."""
    rest = memoryview(data)
    while rest.nbytes:
        inflater = zlib.decompressobj(wbits=31)
        try:
            for start in range(0, rest.nbytes, _PIECE):
                yield from _bounded(inflater, rest[start : start + _PIECE])
                if inflater.eof:
                    break
        except zlib.error as error:
            damage.note(f"the gzip stream is broken: {error}")
            return
        if not inflater.eof:
            damage.note("the gzip stream ends early")
            return
        rest = rest[min(start + _PIECE, rest.nbytes) - len(inflater.unused_data) :]
        if rest.nbytes and bytes(rest[:2]) != GZIP_MAGIC:
            damage.note("bytes follow the gzip stream")
            return


def _bounded(inflater: zlib._Decompress, packed: memoryview) -> Iterator[bytes]:
    """Inflate in pieces of bounded size, since a few bytes may inflate to a thousand times as many."""
    piece = inflater.decompress(packed, _INFLATED)
    while piece:
        yield piece
        piece = inflater.decompress(inflater.unconsumed_tail, _INFLATED)


def _lines(pieces: Iterable[bytes], damage: Damage) -> Iterator[bytes]:
    held = bytearray()
    skipping = False
    for piece in pieces:
        cut = piece.rfind(b"\n") + 1
        if cut:
            whole = piece[:cut] if skipping else bytes(held) + piece[:cut]
            lines = whole.split(b"\n")
            yield from filter(None, map(bytes.strip, lines[1:] if skipping else lines))
            held, skipping = bytearray(), False
        if not skipping:
            held += piece[cut:]
        if len(held) > MAX_LINE_BYTES:
            damage.note(f"a line is longer than {MAX_LINE_BYTES} bytes")
            held, skipping = bytearray(), True
    if last := bytes(held).strip():
        yield from _last(last, damage)


def _last(line: bytes, damage: Damage) -> Iterator[bytes]:
    """A last line without its line break: whole (KubeRay's writer) or torn (a crash)."""
    try:
        msgspec.json.decode(line, type=msgspec.Raw)
    except _BROKEN:
        damage.note("the last line is torn")
        return
    yield line


def _array(pieces: Iterable[bytes], damage: Damage) -> Iterator[bytes]:
    data = bytearray()
    for piece in pieces:
        data += piece
        if len(data) > MAX_ARRAY_BYTES:
            damage.note(f"the JSON array is longer than {MAX_ARRAY_BYTES} bytes")
            return
    try:
        values = msgspec.json.decode(data, type=list[msgspec.Raw])
    except _BROKEN as error:
        damage.note(f"the JSON array is broken: {error}")
        return
    for value in values:
        yield bytes(value)


def decode_json(data: bytes, what: str) -> object:
    """Decode one JSON document.  Raises `DataError` that names `what`."""
    try:
        return msgspec.json.decode(data)
    except _BROKEN as error:
        raise DataError(f"{what}: not JSON: {error}") from error
