"""The `file` store: a folder.  `file:///var/lib/rayhist`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec

from rayhist.errors import ConfigError, Denied, Exists, NotFound, StorageError, Unavailable
from rayhist.hookspecs import hookimpl
from rayhist.ids import relative_path
from rayhist.kinds import StorageKind
from rayhist.storage import Ability, ObjectInfo, Store, ThreadedStore

_TEMPORARY = ".rayhist-part-"
_PAGE = 1000


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of the `file` store."""

    fsync: bool = True
    """Flush each object to the disk before it counts as written."""


class LocalStore(ThreadedStore):
    """Objects as files; written to a temporary name and renamed, so that no reader sees a torn one."""

    abilities = frozenset({Ability.PUT_IF_ABSENT, Ability.DURABLE})

    def __init__(self, root: Path, options: Options) -> None:
        self._root = root
        self._options = options
        self.location = root.as_uri()

    def _path(self, key: str) -> Path:
        return self._root / relative_path(key)

    def _get(self, key: str, start: int, end: int | None) -> bytes:
        with _errors(key), self._path(key).open("rb") as file:
            file.seek(start)
            return file.read(-1 if end is None else max(0, end - start))

    def _put(self, key: str, data: bytes, if_absent: bool) -> ObjectInfo:
        with self._temporary(key) as (path, temporary):
            with temporary.open("wb") as file:
                file.write(data)
                self._flush(file.fileno())
            self._publish(key, temporary, path, if_absent)
        return self._head(key)

    def _put_file(self, key: str, path: Path) -> ObjectInfo:
        with self._temporary(key) as (target, temporary):
            with path.open("rb") as source, temporary.open("wb") as file:
                shutil.copyfileobj(source, file, 1024 * 1024)
                self._flush(file.fileno())
            temporary.replace(target)
        return self._head(key)

    @contextlib.contextmanager
    def _temporary(self, key: str) -> Iterator[tuple[Path, Path]]:
        path = self._path(key)
        with _errors(key):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=_TEMPORARY, dir=path.parent)
            os.close(handle)
            temporary = Path(name)
            try:
                yield path, temporary
            finally:
                temporary.unlink(missing_ok=True)

    @staticmethod
    def _publish(key: str, temporary: Path, path: Path, if_absent: bool) -> None:
        if not if_absent:
            temporary.replace(path)
            return
        try:
            os.link(temporary, path)
        except FileExistsError as error:
            raise Exists(f"{key}: exists already") from error

    def _flush(self, descriptor: int) -> None:
        if self._options.fsync:
            os.fsync(descriptor)

    def _head(self, key: str) -> ObjectInfo:
        path = self._path(key)
        with _errors(key):
            if not path.is_file():
                raise NotFound(f"{key}: no such object in {self.location}")
            return _info(key, path.stat())

    def _delete(self, key: str) -> None:
        with _errors(key):
            self._path(key).unlink(missing_ok=True)

    async def list_objects(self, prefix: str = "", *, after: str = "") -> AsyncIterator[ObjectInfo]:
        """Walk the folders once, in key order; pages are taken on threads."""
        walk = self._walk(prefix, after)
        while page := await asyncio.to_thread(_take, walk):
            for info in page:
                yield info

    def _list_page(self, prefix: str, after: str) -> list[ObjectInfo]:
        return _take(self._walk(prefix, after))

    def _walk(self, prefix: str, after: str) -> Iterator[ObjectInfo]:
        folder, _, _ = prefix.rpartition("/")
        if folder:
            relative_path(folder)
        with _errors(prefix):
            yield from self._scan(folder, prefix, after)

    def _scan(self, folder: str, prefix: str, after: str) -> Iterator[ObjectInfo]:
        base = f"{folder}/" if folder else ""
        try:
            entries = list(os.scandir(self._root / folder))
        except (FileNotFoundError, NotADirectoryError):
            return
        # A folder sorts as `name/`, which is where its keys stand among the files beside it.
        named = [(base + e.name + ("/" if e.is_dir() else ""), e) for e in entries if not _hidden(e.name)]
        for key, entry in sorted(named, key=lambda pair: pair[0].encode("utf-8", "surrogateescape")):
            if key.endswith("/"):
                if key.startswith(prefix) or prefix.startswith(key):
                    yield from self._scan(key[:-1], prefix, after)
            elif key.startswith(prefix) and _later(key, after) and entry.is_file():
                with contextlib.suppress(FileNotFoundError):  # deleted meanwhile
                    yield _info(key, entry.stat())

    async def list_folders(self, prefix: str = "") -> list[str]:
        return await asyncio.to_thread(self._folders, prefix)

    def _folders(self, prefix: str) -> list[str]:
        folder = prefix.rstrip("/")
        path = self._root / relative_path(folder) if folder else self._root
        with _errors(prefix):
            try:
                return sorted(entry.name for entry in os.scandir(path) if entry.is_dir())
            except (FileNotFoundError, NotADirectoryError):
                return []


def _hidden(name: str) -> bool:
    return name.startswith(_TEMPORARY)


def _later(key: str, after: str) -> bool:
    return not after or key.encode("utf-8", "surrogateescape") > after.encode()


def _take(walk: Iterator[ObjectInfo]) -> list[ObjectInfo]:
    return [info for _, info in zip(range(_PAGE), walk, strict=False)]


def _info(key: str, stat: os.stat_result) -> ObjectInfo:
    modified = datetime.fromtimestamp(stat.st_mtime, UTC)
    return ObjectInfo(
        key=key, size=stat.st_size, modified=modified, etag=f"{stat.st_mtime_ns:x}-{stat.st_size:x}"
    )


@contextlib.contextmanager
def _errors(key: str) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
        raise NotFound(f"{key}: no such object") from error
    except PermissionError as error:
        raise Denied(
            f"{key}: {error.strerror}", remedy=f"let this user read and write {error.filename}"
        ) from error
    except StorageError:
        raise
    except OSError as error:
        raise Unavailable(f"{key}: {error.strerror or error}") from error


def open_store(url: str, options: Options) -> Store:
    """Open `file:///absolute/path` or `file:relative/path`; the folder is made when first written to."""
    parts = urlsplit(url)
    if parts.netloc not in {"", "localhost"}:
        raise ConfigError(
            f"{url}: a file URL names no host", remedy="write three slashes: file:///var/lib/rayhist"
        )
    path = unquote(parts.path)
    if not path:
        raise ConfigError(f"{url}: no folder given", remedy="for example file:///var/lib/rayhist")
    return LocalStore(Path(path).expanduser().absolute(), options)


@hookimpl
def rayhist_storage() -> StorageKind:
    return StorageKind(api=1, name="file", schemes=("file",), options=Options, open=open_store)
