"""Archives of logs, unpacked into a folder of our own.  Nothing in them is believed."""

from __future__ import annotations

import os
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

from rayhist import ids
from rayhist.errors import BadIdentifier, ConfigError

SUFFIXES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2", ".tbz2")
_PIECE_BYTES = 1 << 20
_BROKEN = (tarfile.TarError, zipfile.BadZipFile, EOFError, RuntimeError, NotImplementedError, ValueError)


class Limits(NamedTuple):
    """What an archive may hold at most, unpacked."""

    bytes: int
    files: int = 1_000_000


class _Member(NamedTuple):
    name: str
    refused: str
    """Why it is left out whatever it is called, `""` for a regular file."""
    modified_s: float
    read: Callable[[int], bytes]


def is_archive(path: Path) -> bool:
    return path.is_file() and path.name.lower().endswith(SUFFIXES)


def unpack(archive: Path, folder: Path, limits: Limits, progress: Callable[[int, int], None]) -> Counter[str]:
    """Unpack the regular files; returns what was left out, by reason.

    `progress` is told the files and bytes so far.  Raises `ConfigError` for an archive that is damaged, or
    that holds more than the limits allow.
    """
    left_out: Counter[str] = Counter()
    files = size = 0
    try:
        for member in _members(archive):
            reason = member.refused or _bad_name(member.name)
            if reason:
                left_out[reason] += 1
                continue
            files += 1
            size += _write(member, folder / member.name, limits.bytes - size, archive)
            if files > limits.files:
                raise _too_much(archive, f"{limits.files:,} files")
            progress(files, size)
    except _BROKEN as error:
        raise ConfigError(f"{archive} cannot be read: {error}", remedy="is it complete?") from error
    except OSError as error:
        raise ConfigError(
            f"{archive} cannot be unpacked: {error.strerror or error}",
            remedy="unpack it yourself, and import the folder; or set $TMPDIR to a disk with more room",
        ) from error
    return left_out


def _members(archive: Path) -> Iterator[_Member]:
    if archive.name.lower().endswith(".zip"):
        yield from _of_zip(archive)
        return
    with tarfile.open(archive, "r|*") as opened:
        for info in opened:
            if info.isdir():
                continue
            file = opened.extractfile(info) if info.isfile() else None
            refused = "" if file else "a link" if info.issym() or info.islnk() else "a device or the like"
            yield _Member(info.name, refused, info.mtime, file.read if file else _nothing)


def _of_zip(archive: Path) -> Iterator[_Member]:
    with zipfile.ZipFile(archive) as opened:
        for info in opened.infolist():
            kind = info.external_attr >> 16 & 0o170000
            if info.is_dir():
                continue
            if kind not in {0, 0o100000}:
                yield _Member(
                    info.filename, "a link" if kind == 0o120000 else "a device or the like", 0, _nothing
                )
                continue
            file: IO[bytes]
            with opened.open(info) as file:
                yield _Member(info.filename, "", _zip_time(info), file.read)


def _zip_time(info: zipfile.ZipInfo) -> float:
    """ZIP has local times without a zone; better than nothing, and good to a day."""
    import calendar  # noqa: PLC0415 - seldom

    return calendar.timegm((*info.date_time, 0, 0, 0))


def _nothing(_: int) -> bytes:
    return b""


def _bad_name(name: str) -> str:
    if name.startswith(("/", "\\")) or name[1:3] in {":\\", ":/"}:
        return "an absolute path"
    if ".." in name.replace("\\", "/").split("/"):
        return "a path that leads out of the archive"
    try:
        ids.relative_path(name.removeprefix("./"))
    except BadIdentifier:
        return "a name that cannot be part of a key"
    return ""


def _write(member: _Member, path: Path, room: int, archive: Path) -> int:
    """Write one file; what it really holds counts, not what the archive says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    size = 0
    with path.open("wb") as file:
        while piece := member.read(_PIECE_BYTES):
            size += len(piece)
            if size > room:
                raise _too_much(archive, "that many bytes")
            file.write(piece)
    if member.modified_s > 0:
        os.utime(path, (member.modified_s, member.modified_s))
    return size


def _too_much(archive: Path, what: str) -> ConfigError:
    return ConfigError(
        f"{archive} holds more than {what}", remedy="if you trust it, allow more with --max-bytes"
    )
