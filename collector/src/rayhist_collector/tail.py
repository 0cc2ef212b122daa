"""Following the log files of one session by identity, not by name, across rotation and truncation.

A file is the same as long as its device and inode are the same and what was read of it is still there: its
first bytes, and those before the position.  A file that was renamed keeps its id and its position; one that
was truncated, replaced, or whose inode was given to another file, is a new one.

What is about to be read is written down first (`end`), so that after a crash exactly the same ranges are read
again: the same names and the same bytes, which a reader takes for one.
"""

from __future__ import annotations

import fnmatch
import os
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Self

import msgspec

from rayhist.logpack import PackedFile, PackWriter
from rayhist_collector.log_scan import LogEntry

_PIECE_BYTES = 1 << 20
_PRINT_BYTES = 256
_LINE_BYTES = 1 << 20
_MISSES_TO_FORGET = 3
_MAX_PREVIOUS = 100


class Tracked(msgspec.Struct):
    """One file: its identity, names, how far it was read, and what proves that it is still the same.

    `end` is beyond `offset` while a range is being recorded.  `named` is the path that a pack says it has.
    `missed` counts the scans that did not see it: one that was just being renamed may have been overlooked.
    """

    id: str
    path: str
    device: int
    inode: int
    folder: bool = False
    previous: list[str] = []
    named: str = ""
    offset: int = 0
    end: int = 0
    head_length: int = 0
    head_crc: int = 0
    tail_crc: int = 0
    seen_size: int = -1
    seen_ns: int = 0
    missed: int = 0


class Mask(msgspec.Struct, frozen=True):
    """Which files runtime environments stand in (patterns), and what masks their secrets."""

    patterns: tuple[str, ...]
    masked: Callable[[bytes], bytes]

    def concerns(self, path: str) -> bool:
        return any(fnmatch.fnmatchcase(path, pattern) for pattern in self.patterns)


class Tail:
    """The files of one folder.  Not thread-safe; every call blocks.

    `write` stores the positions durably; it raises `OSError` when it cannot.
    """

    def __init__(
        self,
        folder: Path,
        files: list[Tracked],
        write: Callable[[list[Tracked]], None],
        mask: Mask | None = None,
    ) -> None:
        self._mask = mask
        self._folder = folder
        self._files = {(file.device, file.inode): file for file in files}
        self._write = write
        self._recorded: list[Tracked] = []
        self.problems: dict[str, str] = {}
        """Path → why it cannot be read."""
        self.unread: dict[str, int] = {}
        """Path → bytes that were seen, but gone before they were read."""

    @property
    def files(self) -> list[Tracked]:
        return list(self._files.values())

    def look(self, entries: Iterable[LogEntry], now_ms: int) -> bool:
        """Take note of what a scan found; returns whether there is anything to record."""
        self.problems, self.unread = {}, {}
        kept: dict[tuple[int, int], Tracked] = {}
        for entry in entries:
            key = (entry.device, entry.inode)
            if key not in kept:  # else it is a second name of the same file
                kept[key] = self._follow(self._files.get(key), entry, now_ms)
        for key, file in self._files.items():
            if key not in kept:
                file.missed += 1
                if file.missed < _MISSES_TO_FORGET:
                    kept[key] = file
                elif file.seen_size > file.offset:
                    self.unread[file.path] = file.seen_size - file.offset
        self._files = kept
        return any(_pending(file) for file in self._files.values())

    def _follow(self, known: Tracked | None, entry: LogEntry, now_ms: int) -> Tracked:
        if known is None:
            return _new(entry, now_ms)
        as_it_was = (known.path, known.seen_size, known.seen_ns)
        if (entry.path, entry.size, entry.modified_ns) != as_it_was and not self._same(known, entry):
            return _new(entry, max(now_ms, _age_ms(known) + 1))
        if entry.path != known.path:
            known.previous = [*known.previous, known.path][-_MAX_PREVIOUS:]
            known.path = entry.path
        known.seen_size, known.seen_ns, known.missed = entry.size, entry.modified_ns, 0
        return known

    def _same(self, known: Tracked, entry: LogEntry) -> bool:
        """Whether what was read of the file is still there."""
        if entry.size < known.offset or (not known.end and entry.path != known.path):
            return False  # of a file of which nothing was read, its name is all that tells it from another
        try:
            with _Reader(self._folder / entry.path, known) as reader:
                return reader.prints(known.head_length, known.offset) == (known.head_crc, known.tail_crc)
        except (OSError, _ReplacedError):
            return True  # moved meanwhile, so the next scan knows more; or unreadable, so reading will say so

    def record(self, pack: PackWriter, *, most_bytes: int, most_per_file: int) -> bool:
        """Put new ranges into the pack; returns whether there is more.  `commit` once the pack is sealed."""
        planned = self._plan(most_bytes, most_per_file)
        self._write(self.files)
        self._recorded = [file for file in planned if self._record(pack, file)]
        left = [file for file in self._files.values() if file.seen_size > file.end]
        return any(file.path not in self.problems and file.missed == 0 for file in left)

    def _plan(self, most_bytes: int, most_per_file: int) -> list[Tracked]:
        planned = []
        for file in sorted(filter(_pending, self._files.values()), key=_urgency):
            if file.missed:
                continue
            if file.end == file.offset:
                file.end = min(file.seen_size, file.offset + min(most_bytes, most_per_file))
            most_bytes -= file.end - file.offset
            planned.append(file)
            if most_bytes <= 0:
                break
        return planned

    def _record(self, pack: PackWriter, file: Tracked) -> bool:
        if file.folder:
            pack.name(PackedFile(id=file.id, path=file.path, inode=file.inode, folder=True))
            return True
        position = file.offset
        try:
            with _Reader(self._folder / file.path, file) as reader:
                pack.name(PackedFile(id=file.id, path=file.path, previous=file.previous, inode=file.inode))
                for piece in self._pieces(reader, file):
                    pack.add(file.id, position, piece)
                    position += len(piece)
                file.head_length = min(_PRINT_BYTES, position)
                file.head_crc, file.tail_crc = reader.prints(file.head_length, position)
        except OSError as error:
            if not isinstance(error, FileNotFoundError):
                self.problems[file.path] = str(error.strerror)
            return False
        except _ReplacedError:
            return False  # moved meanwhile; the next scan finds it
        file.end = position
        return True

    def _pieces(self, reader: _Reader, file: Tracked) -> Iterator[bytes]:
        """The range's bytes; masked if need be, by whole lines: one that is not finished yet waits."""
        if self._mask is None or not self._mask.concerns(file.path):
            yield from reader.pieces(file.offset, file.end)
            return
        before = b"".join(reader.pieces(max(0, file.offset - _LINE_BYTES), file.offset))
        begun = before[before.rfind(b"\n") + 1 :]
        data = begun + b"".join(reader.pieces(file.offset, file.end))
        whole = data.rfind(b"\n") + 1
        if len(data) - whole < _LINE_BYTES:
            data = data[: max(whole, len(begun))]
            file.seen_size = file.offset + len(data) - len(begun)
        yield self._mask.masked(data)[len(begun) :]

    def commit(self) -> None:
        """The pack is sealed: its ranges need not be read again."""
        for file in self._recorded:
            file.offset = file.end
            file.named = file.path
        self._recorded = []
        self._write(self.files)


class _ReplacedError(Exception):
    """The path now names another file."""


class _Reader:
    """An open file that is known to be the tracked one."""

    def __init__(self, path: Path, file: Tracked) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        status = os.fstat(self._descriptor)
        if (status.st_dev, status.st_ino) != (file.device, file.inode) or not stat.S_ISREG(status.st_mode):
            os.close(self._descriptor)
            raise _ReplacedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def pieces(self, start: int, end: int) -> Iterator[bytes]:
        while start < end:
            piece = os.pread(self._descriptor, min(_PIECE_BYTES, end - start), start)
            if not piece:
                return  # truncated meanwhile; the next scan sees it
            yield piece
            start += len(piece)

    def prints(self, head_length: int, offset: int) -> tuple[int, int]:
        """Checksums of the first bytes, and of those before the offset."""
        start = max(0, offset - _PRINT_BYTES)
        head = os.pread(self._descriptor, head_length, 0)
        return zlib.crc32(head), zlib.crc32(os.pread(self._descriptor, offset - start, start))


def _new(entry: LogEntry, now_ms: int) -> Tracked:
    return Tracked(
        id=f"{now_ms:013d}-{entry.device:x}-{entry.inode:x}",
        path=entry.path,
        device=entry.device,
        inode=entry.inode,
        folder=entry.folder,
        head_crc=zlib.crc32(b""),
        tail_crc=zlib.crc32(b""),
        seen_size=entry.size,
        seen_ns=entry.modified_ns,
    )


def _pending(file: Tracked) -> bool:
    """Whether a pack has to take its bytes or, as of an empty file, only its name."""
    return file.path != file.named or max(file.seen_size, file.end) > file.offset


def _age_ms(file: Tracked) -> int:
    return int(file.id.partition("-")[0])


_FIRST = ("job-driver-", "raylet.", "gcs_server.", "worker-")


def _urgency(file: Tracked) -> tuple[bool, int, str]:
    """What was begun goes first, and then what a user looks for first: time may be short at the end."""
    rank = next((rank for rank, prefix in enumerate(_FIRST) if file.path.startswith(prefix)), len(_FIRST))
    return file.end == file.offset, rank, file.path
