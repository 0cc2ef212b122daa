"""A log pack: the new byte ranges of many log files of one node, in one ZIP.

Members:

* `ranges/<file id>/<start>-<end>`: the bytes `[start, end)` of one file, deflated; the numbers have
  twenty digits, so that names sort by position;
* `files.json`: for each file id its current path below `logs/`, the paths it had before, and its inode; an
  empty file is only named here, and so is an empty folder.

A file's id stays the same when Ray rotates it (`raylet.out` becomes `raylet.out.1`), so no byte is sent
twice.  Any ZIP tool opens a pack, and a reader fetches one member with a range read.
"""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import msgspec

from rayhist import ids
from rayhist.errors import BadIdentifier, DataError

FILES_MEMBER = "files.json"
_RANGE = re.compile(r"ranges/([0-9a-z-]{1,64})/([0-9]{20})-([0-9]{20})\Z")
_FILE_ID = re.compile(r"[0-9a-z-]{1,64}\Z")
_LOCAL_HEADER = struct.Struct("<4s5H3L2H")
_LOCAL_MAGIC = b"PK\x03\x04"
_MAX_GROWTH = 64 * 1024
"""What deflate adds to incompressible bytes is far less, for any range."""
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    KeyError,
    EOFError,
    OSError,
    ValueError,
    RuntimeError,  # an encrypted member; also NotImplementedError and RecursionError
    DataError,
    msgspec.MsgspecError,
)
"""What the standard library raises for a ZIP that is none."""
MAX_MEMBER_BYTES = 1024 * 1024
"""No range is longer; the writer splits.  So a reader needs little memory, and an end without the rest."""
_MAX_FILES_BYTES = 64 * 1024 * 1024
_MAX_OFFSET = 2**62
"""Beyond any file; SQLite's integers end at 2**63."""


class PackedFile(msgspec.Struct):
    """One log file's identity: id, path below `logs/`, earlier paths (oldest first), inode.

    Or, if it says so, a folder with nothing in it.
    """

    id: str
    path: str
    previous: list[str] = []
    inode: int = 0
    folder: bool = False


class RangeEntry(msgspec.Struct, frozen=True, gc=False):
    """Where a range's bytes are in a pack: file id, `[start, end)`, and the member's place in the ZIP."""

    file_id: str
    start: int
    end: int
    header_offset: int
    compressed: int
    method: int
    crc: int


class Table(msgspec.Struct):
    """A pack's table of contents."""

    files: list[PackedFile]
    ranges: list[RangeEntry]


class PackWriter:
    """Writes one pack to a file.  Nothing is in it until `name` was called.

    `ends` says where the last range of each file ended.
    """

    def __init__(self, path: Path, *, level: int = 6) -> None:
        self.path = path
        self._zip = zipfile.ZipFile(
            path, "w", zipfile.ZIP_DEFLATED, compresslevel=level, strict_timestamps=False
        )
        self._files: dict[str, PackedFile] = {}
        self.ends: dict[str, int] = {}
        self.bytes_added = 0

    @property
    def empty(self) -> bool:
        return not self._files

    @property
    def files(self) -> tuple[PackedFile, ...]:
        """The files named so far."""
        return tuple(self._files.values())

    def name(self, file: PackedFile) -> None:
        """Say what a file is called now; needed before its first range, and when it was renamed."""
        _checked_id(file.id)
        ids.relative_path(file.path)
        self._files[file.id] = file

    def add(self, file_id: str, start: int, data: bytes) -> None:
        """Add the bytes of a named file that begin at `start`."""
        if file_id not in self._files:
            raise BadIdentifier(f"file id {file_id!r} was not named first")
        for offset in range(0, len(data), MAX_MEMBER_BYTES):
            piece = data[offset : offset + MAX_MEMBER_BYTES]
            begin = start + offset
            info = zipfile.ZipInfo(f"ranges/{file_id}/{begin:020d}-{begin + len(piece):020d}")
            info.compress_type = zipfile.ZIP_DEFLATED
            self._zip.writestr(info, piece)
        self.ends[file_id] = start + len(data)
        self.bytes_added += len(data)

    def close(self) -> None:
        if self._zip.fp is None:
            return
        self._zip.writestr(zipfile.ZipInfo(FILES_MEMBER), msgspec.json.encode(list(self._files.values())))
        self._zip.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def read_table(file: IO[bytes] | bytes, what: str) -> Table:
    """Read the table of contents.  Raises `DataError` that names `what` if it cannot be believed."""
    try:
        with zipfile.ZipFile(io.BytesIO(file) if isinstance(file, bytes) else file) as archive:
            files = _files(archive)
            return Table(files=files, ranges=list(_entries(archive, {file.id: file.id for file in files})))
    except _BROKEN as error:
        raise DataError(f"{what}: not a log pack: {error}") from error


def _files(archive: zipfile.ZipFile) -> list[PackedFile]:
    if archive.getinfo(FILES_MEMBER).file_size > _MAX_FILES_BYTES:
        raise DataError(f"{FILES_MEMBER} is too long")
    files = msgspec.json.decode(archive.read(FILES_MEMBER), type=list[PackedFile])
    for packed in files:
        _checked_id(packed.id)
        for path in (packed.path, *packed.previous):
            ids.relative_path(path)
    return files


def _entries(archive: zipfile.ZipFile, named: dict[str, str]) -> Iterator[RangeEntry]:
    """The ranges, sharing the texts of the named files' ids, since there may be very many."""
    for info in archive.infolist():
        match = _RANGE.match(info.filename)
        if not match:
            continue
        start, end = int(match[2]), int(match[3])
        if end - start != info.file_size or info.file_size > MAX_MEMBER_BYTES:
            raise DataError(f"{info.filename}: the name says {end - start} bytes, the pack {info.file_size}")
        if not 0 <= info.header_offset <= _MAX_OFFSET or info.compress_size > info.file_size + _MAX_GROWTH:
            raise DataError(f"{info.filename}: its place in the pack is impossible")
        if match[1] not in named or end > _MAX_OFFSET:
            raise DataError(f"{info.filename}: not a range of a named file")
        yield RangeEntry(
            named[match[1]], start, end, info.header_offset, info.compress_size, info.compress_type, info.CRC
        )


def _checked_id(file_id: str) -> None:
    if not _FILE_ID.match(file_id):
        raise BadIdentifier(f"not a file id: {file_id!r}")


def member_span(entry: RangeEntry) -> tuple[int, int]:
    """The bytes of the pack to fetch for a range: local header, room for name and extra, data."""
    room = _LOCAL_HEADER.size + 64 + 24 + 64 + 256
    return entry.header_offset, entry.header_offset + room + entry.compressed


def read_member(span: bytes, entry: RangeEntry, what: str) -> bytes:
    """The bytes of a range, out of what `member_span` said to fetch.  Raises `DataError`."""
    if len(span) < _LOCAL_HEADER.size or not span.startswith(_LOCAL_MAGIC):
        raise DataError(f"{what}: no member at byte {entry.header_offset}")
    *_, name_length, extra_length = _LOCAL_HEADER.unpack_from(span)
    begin = _LOCAL_HEADER.size + name_length + extra_length
    packed = span[begin : begin + entry.compressed]
    if len(packed) < entry.compressed:
        raise DataError(f"{what}: the member at byte {entry.header_offset} is cut short")
    data = packed if entry.method == zipfile.ZIP_STORED else _inflate(packed, entry, what)
    if len(data) != entry.end - entry.start or zlib.crc32(data) != entry.crc:
        raise DataError(f"{what}: the member at byte {entry.header_offset} is damaged")
    return data


def _inflate(packed: bytes, entry: RangeEntry, what: str) -> bytes:
    inflater = zlib.decompressobj(wbits=-15)
    try:
        return inflater.decompress(packed, entry.end - entry.start + 1)
    except zlib.error as error:
        raise DataError(f"{what}: the member at byte {entry.header_offset} is damaged: {error}") from error
