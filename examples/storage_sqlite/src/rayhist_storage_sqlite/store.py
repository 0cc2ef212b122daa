import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from rayhist.errors import Denied, Exists, NotFound, Unavailable
from rayhist.storage import CHUNK_BYTES, Ability, ObjectInfo, ThreadedStore
from rayhist_storage_sqlite import Options

TABLE = "CREATE TABLE IF NOT EXISTS objects (key TEXT NOT NULL UNIQUE, data BLOB NOT NULL)"
PAGE = """SELECT key, length(data) FROM objects
WHERE key > ? AND key >= ? AND substr(key, 1, length(?)) = ? ORDER BY key LIMIT 1000"""


class SqliteStore(ThreadedStore):
    abilities = frozenset({Ability.PUT_IF_ABSENT, Ability.DURABLE})

    def __init__(self, url: str, options: Options) -> None:
        self.location = url
        self._path = unquote(urlsplit(url).path)
        self._wait_s = options.wait_s
        self._one_at_a_time = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def _connected(self) -> sqlite3.Connection:
        if self._connection is None:
            made = sqlite3.connect(self._path, timeout=self._wait_s, check_same_thread=False)
            made.execute("PRAGMA journal_mode = WAL")
            made.execute(TABLE)
            self._connection = made
        return self._connection

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    @contextlib.contextmanager
    def _database(self, key: str) -> Iterator[sqlite3.Connection]:
        """One transaction; whatever goes wrong in it is one of the core's errors."""
        try:
            with self._one_at_a_time, self._connected() as database:
                database.execute("BEGIN IMMEDIATE")
                yield database
        except sqlite3.Error as error:
            if error.sqlite_errorname.startswith(("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH")):
                raise Denied(f"{key}: {error}", remedy=f"let this user write {self._path}") from error
            raise Unavailable(f"{key}: {error}", remedy=f"look after {self._path}") from error

    def _blob(self, database: sqlite3.Connection, key: str) -> sqlite3.Blob:
        found = database.execute("SELECT rowid FROM objects WHERE key = ?", (key,)).fetchone()
        if found is None:
            raise NotFound(f"{key}: no such object in {self.location}")
        return database.blobopen("objects", "data", found[0], readonly=True)

    def _get(self, key: str, start: int, end: int | None) -> bytes:
        with self._database(key) as database, self._blob(database, key) as blob:
            stop = len(blob) if end is None else min(end, len(blob))
            if start >= stop:
                return b""
            blob.seek(start)
            return blob.read(stop - start)

    def _put(self, key: str, data: bytes, if_absent: bool) -> ObjectInfo:
        verb = "INSERT OR IGNORE" if if_absent else "INSERT OR REPLACE"
        with self._database(key) as database:
            if not database.execute(f"{verb} INTO objects VALUES (?, ?)", (key, data)).rowcount:
                raise Exists(f"{key}: exists already")
        return ObjectInfo(key=key, size=len(data))

    def _put_file(self, key: str, path: Path) -> ObjectInfo:
        try:
            file = path.open("rb")
        except OSError as error:
            raise NotFound(f"{path}: {error.strerror}") from error
        size = path.stat().st_size
        with file, self._database(key) as database:
            made = database.execute("INSERT OR REPLACE INTO objects VALUES (?, zeroblob(?))", (key, size))
            with database.blobopen("objects", "data", made.lastrowid or 0) as blob:
                while piece := file.read(CHUNK_BYTES):
                    blob.write(piece)
        return ObjectInfo(key=key, size=size)

    def _head(self, key: str) -> ObjectInfo:
        with self._database(key) as database, self._blob(database, key) as blob:
            return ObjectInfo(key=key, size=len(blob))

    def _delete(self, key: str) -> None:
        with self._database(key) as database:
            database.execute("DELETE FROM objects WHERE key = ?", (key,))

    def _list_page(self, prefix: str, after: str) -> list[ObjectInfo]:
        with self._database(f"list of {prefix}") as database:
            return [ObjectInfo(*row) for row in database.execute(PAGE, (after, prefix, prefix, prefix))]
