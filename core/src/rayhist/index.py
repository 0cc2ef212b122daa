"""The session index: what replay computes once, as one SQLite file that is only read afterwards.

* one table per resource of the state API: each row's JSON as it is served (`base`, and `more` which `detail`
  adds), beside its filterable columns, where texts compare without case, as Ray compares them;
* `documents`: everything that is answered whole, by kind and id;
* `log_files` and `log_ranges`: which bytes of which log file of which node stand where in the archive;
* `meta`: the format, the session, and the report of the replay.
"""

from __future__ import annotations

import sqlite3
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from rayhist.errors import DataError
from rayhist.resources import RESOURCES, Resource, Type

FORMAT = "v2"
"""Changes whenever a reader could misread an index of another version."""

_SQL_TYPES = {
    Type.STRING: "TEXT COLLATE NOCASE",
    Type.INTEGER: "INTEGER",
    Type.FLOAT: "REAL",
    Type.BOOLEAN: "INTEGER",
}

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (kind TEXT NOT NULL, id TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY (kind, id));
CREATE TABLE log_files (
    node TEXT NOT NULL, path TEXT NOT NULL, size INTEGER NOT NULL, missing INTEGER NOT NULL,
    PRIMARY KEY (node, path)
) WITHOUT ROWID;
CREATE TABLE log_ranges (
    node TEXT NOT NULL, path TEXT NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL, key TEXT NOT NULL,
    member BLOB, PRIMARY KEY (node, path, start)
) WITHOUT ROWID;
"""

_FAST = """
PRAGMA page_size=16384; -- a task's row has some 3 KB: a smaller page would hold one, and waste the rest
PRAGMA journal_mode=OFF;
PRAGMA synchronous=OFF;
BEGIN;
"""

_ASK_EVERY = 10_000
"""Instructions of SQLite's machine between two questions whether to stop."""

_BATCH = 500
"""Rows inserted at once."""

_INDEXED = {
    "tasks": (
        "task_id",
        "job_id",
        "worker_id",
        # Whatever is counted by name is counted in this index alone, without reading a row.
        "job_id, type, state, name COLLATE BINARY, func_or_class_name COLLATE BINARY",
    ),
    "actors": ("job_id",),
    "workers": ("node_id", "pid"),
}
"""Columns that are looked up often; the order columns are indexed as well."""


_RANGES = """
SELECT start, "end", key, member FROM log_ranges
WHERE node = :node AND path = :path AND "end" > :start AND start < :stop
"""
_BACKWARDS = _RANGES + "ORDER BY start DESC LIMIT :limit"
_FORWARDS = (
    _RANGES
    # The ranges are disjoint, so the first one that counts is found without reading those before it.
    + """AND start >= coalesce((SELECT max(start) FROM log_ranges
        WHERE node = :node AND path = :path AND start <= :start), 0)
    ORDER BY start LIMIT :limit"""
)


class LogRange(msgspec.Struct, frozen=True):
    """Bytes `[start, end)` of a log file: the archive's key, and for a pack the member (`RangeEntry`)."""

    start: int
    end: int
    key: str
    member: bytes | None = None
    """A `logpack.RangeEntry` as JSON; `None` when the object is the file itself."""


class LogFileRow(msgspec.Struct, frozen=True):
    """One log file of a node: path below `logs/`, size in bytes, and how many of those are missing.

    A path that ends in `/` is a folder with nothing in it.
    """

    node: str
    path: str
    size: int
    missing: int = 0


class LogTables(ABC):
    """Which log files there are, and where their bytes stand: an index can tell, and its writer too."""

    @property
    @abstractmethod
    def database(self) -> sqlite3.Connection:
        """A connection that this thread may use now."""

    def log_files(self, node: str) -> list[LogFileRow]:
        """The log files of a node, by path."""
        found = self.database.execute(
            "SELECT node, path, size, missing FROM log_files WHERE node = ? ORDER BY path", (node,)
        )
        return [LogFileRow(*row) for row in found]

    def log_nodes(self) -> list[str]:
        """The nodes that have log files, sorted."""
        return [row[0] for row in self.database.execute("SELECT DISTINCT node FROM log_files ORDER BY node")]

    def log_ranges(
        self,
        node: str,
        path: str,
        start: int = 0,
        end: int | None = None,
        *,
        limit: int = -1,
        backwards: bool = False,
    ) -> list[LogRange]:
        """The ranges of a file that meet `[start, end)`, sorted; `backwards`, the last ones come first."""
        stop = 2**62 if end is None else end
        found = self.database.execute(
            _BACKWARDS if backwards else _FORWARDS,
            {"node": node, "path": path, "start": start, "stop": stop, "limit": limit},
        )
        return [LogRange(*row) for row in found]


class IndexWriter(LogTables):
    """Builds an index in a new file.  Not thread-safe.  A writer that is not finished leaves no index."""

    def __init__(self, path: Path, *, stopped: Callable[[], bool] = lambda: False) -> None:
        """Raises `sqlite3.Error`, as all methods do; also as soon as `stopped` says so in a long one."""
        self._path = path
        self._stopped = stopped
        self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._database.set_progress_handler(stopped, _ASK_EVERY)
        self._database.executescript(_FAST)
        self._run_script(_SCHEMA)
        for resource in RESOURCES.values():
            self._database.execute(_create_table(resource))

    @property
    def database(self) -> sqlite3.Connection:
        """The connection; what was written can be read at once."""
        return self._database

    def written(self, kind: str, identifier: str) -> bytes | None:
        """The JSON of a document that was added, or `None`."""
        return _document(self._database, kind, identifier)

    def _run_script(self, script: str) -> None:
        for statement in script.split(";"):
            if statement.strip():
                self._database.execute(statement)

    def rows(self, resource: Resource, rows: Iterable[dict[str, Any]]) -> int:
        """Add rows of a resource, each with all of its columns; returns how many there were."""
        names = tuple(resource.stored)
        return self.prepared(
            resource, ("base", "more", *names), (self._row(resource, names, row) for row in rows)
        )

    def prepared(self, resource: Resource, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> int:
        """Add rows that are ready for the table, which is faster; returns how many there were.

        `columns` names what each row holds: `more` in JSON, `base` too unless the resource is flat, and the
        stored columns.
        """
        before = self._database.total_changes
        listed = ", ".join(f'"{name}"' for name in columns)
        marks = ", ".join("?" * len(columns))
        sql = f'INSERT INTO "{resource.name}" ({listed}) VALUES ({marks})'
        rest = iter(rows)
        # Many rows at once: to make one and insert it in turn takes a sixth longer.
        while batch := list(islice(rest, _BATCH)):
            if self._stopped():
                raise sqlite3.OperationalError("interrupted")
            self._database.executemany(sql, batch)
        return self._database.total_changes - before

    @staticmethod
    def _row(resource: Resource, names: tuple[str, ...], row: dict[str, Any]) -> tuple[Any, ...]:
        base, more = resource.split(row)
        return (
            None if resource.flat else msgspec.json.encode(base),
            msgspec.json.encode(more),
            *(_comparable(row.get(name)) for name in names),
        )

    def document(self, kind: str, identifier: str, body: object) -> None:
        """Add or replace a document: JSON bytes, or a value to encode."""
        data = body if isinstance(body, bytes) else msgspec.json.encode(body)
        self._database.execute("INSERT OR REPLACE INTO documents VALUES (?, ?, ?)", (kind, identifier, data))

    def log_file(self, file: LogFileRow, ranges: Iterable[LogRange]) -> None:
        """Add a log file; its ranges must be sorted and must not overlap."""
        self._database.execute(
            "INSERT INTO log_files VALUES (?, ?, ?, ?)", (file.node, file.path, file.size, file.missing)
        )
        self._database.executemany(
            "INSERT INTO log_ranges VALUES (?, ?, ?, ?, ?, ?)",
            ((file.node, file.path, one.start, one.end, one.key, one.member) for one in ranges),
        )

    def meta(self, key: str, value: object) -> None:
        self._database.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, msgspec.json.encode(value)))

    def finish(self) -> None:
        """Index the columns and close; only now is the file an index."""
        self.meta("format", FORMAT)
        for resource in RESOURCES.values():
            wanted = (", ".join(resource.order), *_INDEXED.get(resource.name, ()))
            for number, columns in enumerate(filter(None, wanted)):
                sql = f'CREATE INDEX "{resource.name}_{number}" ON "{resource.name}" ({columns})'
                self._database.execute(sql)
        self._database.execute("COMMIT")
        self._database.execute("PRAGMA optimize")
        self._database.close()

    def abandon(self) -> None:
        """Close and delete the unfinished file."""
        self._database.close()
        self._path.unlink(missing_ok=True)


class Index(LogTables):
    """An index opened for reading.  Safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        """Raises `DataError` if the file is not an index of this format."""
        self.path = path
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        try:
            found = self.meta("format")
        except (DataError, sqlite3.DatabaseError, msgspec.DecodeError, UnicodeDecodeError) as error:
            self.close()
            raise DataError(f"{path}: not a session index: {error}") from error
        if found != FORMAT:
            self.close()
            raise DataError(f"{path}: an index of format {found!r}, not {FORMAT!r}")

    @property
    def database(self) -> sqlite3.Connection:
        """This thread's connection."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            uri = f"{self.path.absolute().as_uri()}?mode=ro&immutable=1"
            connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
            connection.create_function("folded", 1, _folded, deterministic=True)
            self._local.connection = connection
            with self._lock:
                self._opened.append(connection)
        return connection

    def read(self, sql: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of a query.  Raises `DataError` if the file is damaged."""
        try:
            yield from self.database.execute(sql, values)
        except sqlite3.DatabaseError as error:
            raise DataError(
                f"{self.path}: the index is damaged: {error}", remedy="delete the file: it is made again"
            ) from error

    def meta(self, key: str) -> Any:
        """A value of the table `meta`, or `None`.  Raises `DataError` as `read` does."""
        row = next(self.read("SELECT value FROM meta WHERE key = ?", (key,)), None)
        return None if row is None else msgspec.json.decode(row[0])

    def document(self, kind: str, identifier: str) -> bytes | None:
        """A document's JSON, or `None` if there is none."""
        return _document(self.database, kind, identifier)

    def documents(self, kind: str) -> Iterator[tuple[str, bytes]]:
        """The documents of a kind, in the order they were added."""
        yield from self.read("SELECT id, body FROM documents WHERE kind = ? ORDER BY rowid", (kind,))

    def log_file(self, node: str, path: str) -> LogFileRow | None:
        found = self.database.execute(
            "SELECT node, path, size, missing FROM log_files WHERE node = ? AND path = ?", (node, path)
        ).fetchone()
        return None if found is None else LogFileRow(*found)

    def close(self) -> None:
        with self._lock:
            for connection in self._opened:
                connection.close()
            self._opened.clear()


def _document(database: sqlite3.Connection, kind: str, identifier: str) -> bytes | None:
    found = database.execute(
        "SELECT body FROM documents WHERE kind = ? AND id = ?", (kind, identifier)
    ).fetchone()
    return None if found is None else bytes(found[0])


def _comparable(value: Any) -> Any:
    """What a stored column holds: a text, a number, or nothing."""
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _folded(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def _create_table(resource: Resource) -> str:
    # The long columns come last, so that a row's short ones are found without going over them.
    columns = "".join(f', "{name}" {_SQL_TYPES[kind]}' for name, kind in resource.stored.items())
    return f'CREATE TABLE "{resource.name}" (seq INTEGER PRIMARY KEY{columns}, base BLOB, more BLOB)'
