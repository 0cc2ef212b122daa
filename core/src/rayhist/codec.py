"""JSON lines ⇄ bytes: framing, gzip, and what can still be read of a broken file.

An event or snapshot file is one JSON value per line, gzip'd or not.  KubeRay's older event files are one
JSON array; the first byte tells.  A torn last line or a gzip tail that was cut costs just that line.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator

import msgspec

from rayhist.errors import DataError

GZIP_MAGIC = b"\x1f\x8b"
MAX_LINE_BYTES = 64 * 1024 * 1024
_PIECE = 256 * 1024


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
    pieces = _inflate(data, damage) if data.startswith(GZIP_MAGIC) else iter([data])
    first = next(pieces, b"")
    if first.lstrip()[:1] == b"[":
        yield from _array(first + b"".join(pieces), damage)
        return
    yield from _lines(first, pieces, damage)


def _inflate(data: bytes, damage: Damage) -> Iterator[bytes]:
    """Inflate member after member; a file that was appended to by restarts has several."""
    view = memoryview(data)
    while view.nbytes:
        inflater = zlib.decompressobj(wbits=31)
        try:
            for start in range(0, view.nbytes, _PIECE):
                if piece := inflater.decompress(view[start : start + _PIECE]):
                    yield piece
                if inflater.eof:
                    view = (
                        view[start + _PIECE - len(inflater.unused_data) :]
                        if inflater.unused_data
                        else view[:0]
                    )
                    break
            else:
                damage.note("the gzip stream ends early")
                return
        except zlib.error as error:
            damage.note(f"the gzip stream is broken: {error}")
            return
        if view.nbytes and bytes(view[:2]) != GZIP_MAGIC:
            damage.note("bytes follow the gzip stream")
            return


def _lines(first: bytes, pieces: Iterator[bytes], damage: Damage) -> Iterator[bytes]:
    rest = first
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        yield from filter(None, map(bytes.strip, whole))
        if len(rest) > MAX_LINE_BYTES:
            damage.note(f"a line is longer than {MAX_LINE_BYTES} bytes")
            return
    *whole, rest = rest.split(b"\n")
    yield from filter(None, map(bytes.strip, whole))
    if rest := rest.strip():
        yield from _last(rest, damage)


def _last(line: bytes, damage: Damage) -> Iterator[bytes]:
    """A last line without its line break: whole (KubeRay's writer) or torn (a crash)."""
    try:
        msgspec.json.decode(line, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        damage.note("the last line is torn")
        return
    yield line


def _array(data: bytes, damage: Damage) -> Iterator[bytes]:
    try:
        values = msgspec.json.decode(data, type=list[msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        damage.note(f"the JSON array is broken: {error}")
        return
    for value in values:
        yield bytes(value)


def decode_json(data: bytes, what: str) -> object:
    """Decode one JSON document.  Raises `DataError` that names `what`."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"{what}: not JSON: {error}") from error
