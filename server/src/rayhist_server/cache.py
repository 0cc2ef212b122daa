"""The disk cache of session indexes: whole files, least recently used out first, none while it is read.

An index is a SQLite file that is opened in place, so the cache is a folder of files and nothing else: no
database of its own, no value that is decoded, nothing that could run code.  A shared `flock` on a file is a
lease: it holds across threads and processes, and the kernel lets go of it when a process dies.  Everything
here may be deleted at any time; what is missing is replayed again.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from rayhist.errors import ConfigError
from rayhist.index import FORMAT

_INDEX = ".index"
_PART = ".part"
_BAD = ".bad"


class Lease:
    """A cached file that stays as long as this is open."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class Build:
    """A file in the making: write to `path`, then `publish` or `abandon`."""

    def __init__(self, cache: IndexCache) -> None:
        self._cache = cache
        self.path, self._descriptor = _new_file(cache.folder)

    def publish(self, name: str, state: str) -> Lease:
        """Make the file the index of that name and state, and lease it."""
        final = self._cache.path(name, state)
        self.path.replace(final)
        fcntl.flock(self._descriptor, fcntl.LOCK_SH)
        self._cache.drop_others(name, final)
        self._cache.trim()
        return Lease(final, self._descriptor)

    def abandon(self) -> None:
        self.path.unlink(missing_ok=True)
        os.close(self._descriptor)


class IndexCache:
    """Index files by name and state, bounded by bytes and by number.  Safe between processes."""

    def __init__(self, folder: Path, location: str, *, max_bytes: int, max_sessions: int) -> None:
        """`location` is the archive's: in another one the same names mean something else.

        Raises `ConfigError` if the folder cannot be used.
        """
        self.folder = folder
        self._location = location
        self._max_bytes = max_bytes
        self._max_sessions = max_sessions
        private_folder(folder)
        self.trim()

    def path(self, name: str, state: str) -> Path:
        return self.folder / f"{self._prefix(name)}{state}{_INDEX}"

    def _prefix(self, name: str) -> str:
        digest = hashlib.blake2b(f"{self._location}\0{name}".encode(), digest_size=16)
        return f"{FORMAT}-{digest.hexdigest()}-"

    def lease(self, name: str, state: str) -> Lease | None:
        """The index of that name and state, or `None`; it counts as used now."""
        path = self.path(name, state)
        while True:
            try:
                descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                return None
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            if _is(path, descriptor):
                os.utime(descriptor)
                return Lease(path, descriptor)
            os.close(descriptor)  # it was evicted between the two calls

    def start(self) -> Build:
        """Begin a new file.  Raises `OSError`."""
        return Build(self)

    def set_aside(self, path: Path) -> None:
        """Take a damaged file out of use; it is kept for a look until it is evicted."""
        with contextlib.suppress(FileNotFoundError):
            path.replace(path.with_suffix(_BAD))

    def usage(self) -> tuple[int, int]:
        """How many files there are, and their bytes."""
        files = list(self._files())
        return len(files), sum(size for _, size, _ in files)

    def trim(self) -> None:
        """Evict until the limits hold; what is leased stays, even if it alone exceeds them."""
        files = sorted(self._files())
        count, total = len(files), sum(size for _, size, _ in files)
        for _, size, path in files:
            leftover = path.suffix == _PART
            if not leftover and count <= self._max_sessions and total <= self._max_bytes:
                continue
            if _remove_unused(path):
                count, total = count - 1, total - size

    def drop_others(self, name: str, kept: Path) -> None:
        """Remove the indexes of that name in other, earlier states."""
        for path in self.folder.glob(f"{self._prefix(name)}*{_INDEX}"):
            if path != kept:
                _remove_unused(path)

    def _files(self) -> Iterator[tuple[float, int, Path]]:
        """Time of last use, bytes and path of every file of ours."""
        with os.scandir(self.folder) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):
                    if entry.is_file(follow_symlinks=False) and Path(entry.name).suffix in _OURS:
                        stat = entry.stat(follow_symlinks=False)
                        yield stat.st_mtime, stat.st_size, Path(entry.path)


_OURS = frozenset({_INDEX, _PART, _BAD})


def private_folder(folder: Path) -> None:
    """Make the folder, readable by this user alone.  Raises `ConfigError`."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_uid != os.geteuid():
            raise ConfigError(
                f"cache folder {folder} belongs to another user",
                remedy="set [cache] path to a folder of yours",
            )
        folder.chmod(0o700)
    except OSError as error:
        raise ConfigError(
            f"cache folder {folder} cannot be used: {error.strerror}", remedy="set [cache] path"
        ) from error


def _new_file(folder: Path) -> tuple[Path, int]:
    """A new file, locked so that nobody takes it for the leftover of a process that died."""
    while True:
        path = folder / f"{uuid.uuid4().hex}{_PART}"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if _is(path, descriptor):
            return path, descriptor
        os.close(descriptor)  # somebody was quicker and took it for one


def _is(path: Path, descriptor: int) -> bool:
    """Whether the path still means the opened file."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _remove_unused(path: Path) -> bool:
    """Delete a file unless somebody holds it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink(missing_ok=True)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True
