"""The spool: what is on this node's disk and not yet in every sink.  Disk first, then the network.

    lock                    held by the collector that uses this spool
    open/                   being written; the next start seals what a crash left here
    sealed/<layout key>     complete; goes to every sink, and is deleted when all of them have it
    kept/<layout key>       the last good answer of each of the dashboard's endpoints
    state/<owner>/          what a source or the ledger remembers from one start to the next
    quarantine/             what could not be believed
    tmp/                    half-written files; emptied at the start

Everything here blocks and belongs on a thread.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import msgspec

from rayhist.errors import ConfigError
from rayhist.sink import Sealed

_KEPT_S = 7 * 24 * 3600


class Entry(msgspec.Struct, frozen=True):
    """A sealed file as it was when looked at; `identity` changes when the key is written anew."""

    sealed: Sealed
    identity: tuple[int, int]


class Spool:
    """One collector's spool.  Raises `ConfigError` if another collector uses it or it cannot be written."""

    def __init__(self, root: Path, *, fsync: bool = True) -> None:
        self.root = root
        self.fsync = fsync
        self.open = root / "open"
        self.kept = root / "kept"
        self.quarantine = root / "quarantine"
        self._sealed = root / "sealed"
        self._temporary = root / "tmp"
        self._numbers = itertools.count()
        self._swap = threading.Lock()
        try:
            self._make_folders()
            self._lock = _locked(root / "lock")
        except OSError as error:
            raise ConfigError(
                f"the spool {root} cannot be used: {error.strerror or error}",
                remedy="set [collector] spool to a folder this user may write to",
            ) from error

    def _make_folders(self) -> None:
        _make_temp_dir(self.root.parent)
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in (self.open, self.kept, self.quarantine, self._sealed):
            folder.mkdir(exist_ok=True)

    def recover(self) -> None:
        """Throw away half-written files.  Called once, after the lock was taken."""
        shutil.rmtree(self._temporary, ignore_errors=True)
        self._temporary.mkdir(exist_ok=True)

    def release(self) -> None:
        self._lock.close()

    def state(self, owner: str) -> Path:
        """A folder of the owner's own, kept from one start to the next."""
        folder = self.root / "state" / owner
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @contextlib.contextmanager
    def temporary(self) -> Iterator[Path]:
        """A path for a file that is being written; gone at the end unless it was moved away."""
        path = self._temporary / str(next(self._numbers))
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    def write(self, path: Path, data: bytes, *, flush: bool = True) -> None:
        """Put all of `data` at `path`, or leave what was there."""
        with self.temporary() as temporary:
            temporary.write_bytes(data)
            if flush:
                self._flush(temporary)
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.replace(path)

    def seal(self, key: str, file: Path) -> None:
        """Move a finished file to its key, in place of what was there."""
        self._flush(file)
        target = self._sealed / key
        with self._swap:
            target.parent.mkdir(parents=True, exist_ok=True)
            file.replace(target)
        if self.fsync:
            _flush_folder(target.parent)

    def seal_bytes(self, key: str, data: bytes) -> None:
        with self.temporary() as temporary:
            temporary.write_bytes(data)
            self.seal(key, temporary)

    def seal_copy(self, key: str, file: Path) -> None:
        """As `seal`, but the file stays; it must never be changed in place."""
        with self.temporary() as temporary:
            os.link(file, temporary)
            self.seal(key, temporary)

    def sealed_keys(self) -> list[str]:
        """The keys of all sealed files, oldest first."""
        found = []
        for folder, _, names in os.walk(self._sealed):
            for name in names:
                path = Path(folder, name)
                with contextlib.suppress(FileNotFoundError):
                    found.append((path.stat().st_mtime_ns, path.relative_to(self._sealed).as_posix()))
        return [key for _, key in sorted(found)]

    def look(self, key: str) -> Entry | None:
        path = self._sealed / key
        try:
            stat = path.stat()
        except FileNotFoundError:
            return None
        return Entry(Sealed(key=key, path=path, size=stat.st_size), (stat.st_ino, stat.st_mtime_ns))

    def forget(self, entry: Entry) -> bool:
        """Delete a file that every sink has; returns false if it was written anew meanwhile."""
        with self._swap:
            now = self.look(entry.sealed.key)
            if now is not None and now.identity != entry.identity:
                return False
            entry.sealed.path.unlink(missing_ok=True)
            for folder in entry.sealed.path.parents:
                if folder == self._sealed or not _removed(folder):
                    break
        return True

    def usage(self) -> tuple[int, int]:
        """How many sealed files there are, and their bytes."""
        entries = [entry for key in self.sealed_keys() if (entry := self.look(key))]
        return len(entries), sum(entry.sealed.size for entry in entries)

    def _flush(self, file: Path) -> None:
        if self.fsync:
            with file.open("rb") as opened:
                os.fsync(opened.fileno())


def recent_files(folder: Path) -> list[Path]:
    """The JSON files of a state folder; those that nothing was added to for a week are deleted."""
    found = []
    for path in sorted(folder.glob("*.json")):
        if time.time() - path.stat().st_mtime > _KEPT_S:
            path.unlink()
        else:
            found.append(path)
    return found


def _locked(path: Path) -> IO[bytes]:
    lock = path.open("ab")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        lock.close()
        raise ConfigError(
            f"another collector uses the spool {path.parent}",
            remedy="stop it first; two nodes on one machine need a [collector] spool each",
        ) from error
    return lock


def _make_temp_dir(path: Path) -> None:
    """Make the folder above the spool.  It may be Ray's own, which Ray wants writable by every user."""
    if not path.exists():
        path.mkdir(parents=True)
        path.chmod(0o777)


def _removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except OSError:
        return False
    return True


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
