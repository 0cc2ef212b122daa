"""The `file` store: a folder.  `file:///var/lib/rayhist`."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import IO
from urllib.parse import unquote, urlsplit

import msgspec

from rayhist.errors import (
    BadIdentifier,
    ConfigError,
    Denied,
    Exists,
    NotFound,
    RayhistError,
    Unavailable,
)
from rayhist.hookspecs import hookimpl
from rayhist.kinds import StorageKind
from rayhist.storage import (
    CHUNK_BYTES,
    Ability,
    ObjectInfo,
    Store,
    ThreadedStore,
    checked_folder,
    checked_key,
    checked_prefix,
)

_TEMPORARY = ".rayhist-part-"
_PAGE = 1000
_ATTEMPTS = 10
_NOT_THERE = (FileNotFoundError, IsADirectoryError, NotADirectoryError)


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of the `file` store."""

    fsync: bool = True
    """Flush each object to the disk before it counts as written."""


class LocalStore(ThreadedStore):
    """Objects as files; written to a temporary name and renamed, so that no reader sees a torn one.

    A file system cannot hold both an object `a` and an object `a/b`: the second one is refused with
    `BadIdentifier`.  Listings do not follow symbolic links below the root.
    """

    abilities = frozenset({Ability.PUT_IF_ABSENT, Ability.DURABLE})

    def __init__(self, root: Path, options: Options) -> None:
        self._root = root
        self._options = options
        self.location = root.as_uri()

    async def identity(self) -> str:
        return f"user {os.geteuid()}, group {os.getegid()}, of this process"

    def _path(self, key: str) -> Path:
        if _TEMPORARY in key:
            raise BadIdentifier(f"{key}: names with {_TEMPORARY!r} are the store's own")
        return self._root / key

    def _get(self, key: str, start: int, end: int | None) -> bytes:
        with _reading(key), self._path(key).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            stop = size if end is None else min(end, size)
            if start >= stop:
                return b""
            file.seek(start)
            return file.read(stop - start)

    def _put(self, key: str, data: bytes, if_absent: bool) -> ObjectInfo:
        return self._write(key, lambda file: file.write(data), if_absent)

    def _put_file(self, key: str, path: Path) -> ObjectInfo:
        with contextlib.ExitStack() as stack:
            with _reading(str(path)):
                source = stack.enter_context(path.open("rb"))
            return self._write(key, lambda file: shutil.copyfileobj(source, file, CHUNK_BYTES))

    def _write(self, key: str, fill: Callable[[IO[bytes]], object], if_absent: bool = False) -> ObjectInfo:
        path = self._path(key)
        temporary = path.parent / f"{_TEMPORARY}{secrets.token_hex(8)}"
        with _writing(key):
            try:
                with self._create(temporary) as file:
                    fill(file)
                    file.flush()
                    self._sync(file.fileno())
                    info = _info(key, os.fstat(file.fileno()))
                _publish(key, temporary, path, if_absent)
                self._sync_folder(path.parent)
            finally:
                temporary.unlink(missing_ok=True)
        return info

    def _create(self, path: Path) -> IO[bytes]:
        for _ in range(_ATTEMPTS):
            self._make_folder(path.parent)
            # A deletion beside us may take the empty folder away again.
            with contextlib.suppress(FileNotFoundError):
                return path.open("xb")
        raise Unavailable(f"{path.parent} keeps being removed")

    def _make_folder(self, folder: Path) -> None:
        if folder.is_dir():
            return
        self._make_folder(folder.parent)
        with contextlib.suppress(FileNotFoundError):
            folder.mkdir(exist_ok=True)
            self._sync_folder(folder.parent)

    def _sync_folder(self, folder: Path) -> None:
        if self._options.fsync:  # a new name is durable only with its folder
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def _sync(self, descriptor: int) -> None:
        if self._options.fsync:
            os.fsync(descriptor)

    def _head(self, key: str) -> ObjectInfo:
        path = self._path(key)
        with _reading(key):
            if not path.is_file():
                raise NotFound(f"{key}: no such object in {self.location}")
            return _info(key, path.stat())

    def _delete(self, key: str) -> None:
        path = self._path(key)
        with contextlib.suppress(NotFound), _reading(key):
            path.unlink()
            self._prune(path.parent)

    def _prune(self, folder: Path) -> None:
        """Remove the folders that became empty, so that none is listed that holds nothing."""
        with contextlib.suppress(OSError):
            while folder != self._root:
                folder.rmdir()
                folder = folder.parent

    async def list_objects(self, prefix: str = "", *, after: str = "") -> AsyncIterator[ObjectInfo]:
        """Walk the folders once, in key order; pages are taken on threads."""
        walk = self._walk(checked_prefix(prefix), after and checked_key(after))
        while page := await asyncio.to_thread(_take, walk):
            for info in page:
                yield info

    def _list_page(self, prefix: str, after: str) -> list[ObjectInfo]:
        return _take(self._walk(prefix, after))

    def _walk(self, prefix: str, after: str) -> Iterator[ObjectInfo]:
        folder, slash, _ = prefix.rpartition("/")
        with _reading(prefix or self.location):
            yield from self._scan(folder + slash, prefix, after.encode())

    def _scan(self, base: str, prefix: str, after: bytes) -> Iterator[ObjectInfo]:
        """The objects below `base`, which is empty or ends in `/`."""
        for key, entry in sorted(self._entries(base), key=lambda pair: pair[0].encode()):
            if not key.startswith(prefix):
                continue
            if key.endswith("/"):
                if key.encode() > after or after.startswith(key.encode()):
                    yield from self._scan(key, prefix, after)
            elif key.encode() > after:
                with contextlib.suppress(FileNotFoundError):  # deleted meanwhile
                    yield _info(key, entry.stat(follow_symlinks=False))

    def _entries(self, base: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
        """Each file with its key, and each folder with its key and a `/`, by which it has to be sorted."""
        try:
            entries = os.scandir(self._root / base)
        except (FileNotFoundError, NotADirectoryError):
            return
        with entries:
            for entry in entries:
                key = base + entry.name
                if not _ours(key):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    yield key + "/", entry
                elif entry.is_file(follow_symlinks=False):
                    yield key, entry

    async def list_folders(self, prefix: str = "") -> list[str]:
        return await asyncio.to_thread(self._folders, checked_folder(prefix))

    def _folders(self, prefix: str) -> list[str]:
        with _reading(prefix or self.location):
            names = [key[len(prefix) : -1] for key, _ in self._entries(prefix) if key.endswith("/")]
        return sorted(names, key=str.encode)


def _ours(key: str) -> bool:
    """Whether a file can be an object: not a temporary one, and not one that somebody else misnamed."""
    try:
        return _TEMPORARY not in checked_key(key)
    except BadIdentifier:
        return False


def _publish(key: str, temporary: Path, path: Path, if_absent: bool) -> None:
    if not if_absent:
        temporary.replace(path)
        return
    try:
        os.link(temporary, path)
    except FileExistsError as error:
        raise Exists(f"{key}: exists already") from error


def _take(walk: Iterator[ObjectInfo]) -> list[ObjectInfo]:
    return list(islice(walk, _PAGE))


def _info(key: str, stat: os.stat_result) -> ObjectInfo:
    modified = datetime.fromtimestamp(stat.st_mtime, UTC)
    return ObjectInfo(
        key=key, size=stat.st_size, modified=modified, etag=f"{stat.st_mtime_ns:x}-{stat.st_size:x}"
    )


@contextlib.contextmanager
def _reading(what: str) -> Iterator[None]:
    try:
        yield
    except _NOT_THERE as error:
        raise NotFound(f"{what}: no such object") from error
    except OSError as error:
        raise _explained(what, error) from error


@contextlib.contextmanager
def _writing(key: str) -> Iterator[None]:
    try:
        yield
    except (FileExistsError, IsADirectoryError, NotADirectoryError) as error:
        raise BadIdentifier(
            f"{key}: cannot be an object, since a part of it is an object, or it is a folder"
        ) from error
    except OSError as error:
        raise _explained(key, error) from error


def _explained(what: str, error: OSError) -> RayhistError:
    message = f"{what}: {error.strerror or error}"
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return Denied(message, remedy=f"let this user read and write {error.filename or what}")
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return Unavailable(message, remedy="free some space on that disk, or raise the quota")
    return Unavailable(message)


def open_store(url: str, options: Options) -> Store:
    """Open `file:///absolute/path` or `file:relative/path`; the folder is made when first written to."""
    parts = urlsplit(url)
    if parts.netloc not in {"", "localhost"}:
        raise ConfigError(
            f"{url}: a file URL names no host", remedy="write three slashes: file:///var/lib/rayhist"
        )
    path = unquote(parts.path)
    if not path or "\0" in path:
        raise ConfigError(f"{url}: no folder given", remedy="for example file:///var/lib/rayhist")
    if parts.query or parts.fragment:
        raise ConfigError(f"{url}: '?' and '#' have a meaning in URLs", remedy="write them as %3F and %23")
    try:
        root = Path(path).expanduser().absolute()
    except RuntimeError as error:
        raise ConfigError(f"{url}: {error}", remedy="write the whole path") from error
    if root.exists() and not root.is_dir():
        raise ConfigError(f"{url}: is a file, not a folder", remedy="name a folder, or a place for one")
    return LocalStore(root, options)


@hookimpl
def rayhist_storage() -> StorageKind:
    return StorageKind(api=1, name="file", schemes=("file",), options=Options, open=open_store)
