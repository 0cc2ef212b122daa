"""An index is written once, believed only if it is whole and of this format, and then only read."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rayhist.errors import DataError
from rayhist.index import Index, IndexWriter
from rayhist.query import Filter, Query, run
from rayhist.resources import RESOURCES, TASKS, Resource, Type


def _value(kind: Type | None, number: int) -> Any:
    """A value that a column of the type may have; of no type, any JSON."""
    if kind is Type.STRING:
        return f"Täxt {number}"
    if kind is Type.BOOLEAN:
        return bool(number % 2)
    return number if kind is Type.INTEGER else number / 2 if kind is Type.FLOAT else {"a": [number]}


def _full(resource: Resource, number: int) -> dict[str, Any]:
    return {name: _value(resource.stored.get(name), number) for name in resource.columns}


@pytest.mark.parametrize("resource", RESOURCES.values(), ids=lambda one: one.name)
def test_rows_come_back_as_they_were_written(tmp_path: Path, resource: Resource) -> None:
    """Every column of every resource, with and without details, also where a row has none."""
    rows = [_full(resource, number) for number in range(1, 4)]
    writer = IndexWriter(tmp_path / "index.sqlite")
    assert writer.rows(resource, [*rows, {}]) == 4
    writer.finish()
    index = Index(tmp_path / "index.sqlite")

    detailed = [msgspec.json.decode(row) for row in run(index, resource, Query(detail=True)).rows]
    plain = [msgspec.json.decode(row) for row in run(index, resource, Query()).rows]

    nothing = dict.fromkeys(resource.columns)
    assert sorted(detailed, key=str) == sorted([*rows, nothing], key=str)
    assert [set(row) for row in plain] == [set(resource.base)] * 4
    assert [list(row) for row in detailed] == [list(resource.columns)] * 4


@pytest.mark.parametrize("resource", RESOURCES.values(), ids=lambda one: one.name)
def test_what_a_flat_resource_leaves_out_can_be_made_of_its_columns(resource: Resource) -> None:
    assert not resource.flat or set(resource.base) <= set(resource.stored)
    assert set(resource.kept) <= set(resource.more)
    assert set(resource.order) <= set(resource.stored)
    booleans = {name for name, kind in resource.stored.items() if kind is Type.BOOLEAN}
    assert not resource.flat or not booleans & set(resource.base), "SQLite would make numbers of them"


def test_documents_come_back_in_order_and_the_last_of_a_name_counts(tmp_path: Path) -> None:
    writer = IndexWriter(tmp_path / "index.sqlite")
    for name, body in (("b", {"x": 1}), ("a", b'{"raw":true}'), ("ü", None)):
        writer.document("thing", name, body)
    writer.document("thing", "a", {"x": 2})
    writer.document("other", "a", 3)
    writer.finish()
    index = Index(tmp_path / "index.sqlite")

    assert index.document("thing", "a") == b'{"x":2}'
    assert index.document("thing", "c") is None
    assert {name for name, _ in index.documents("thing")} == {"a", "b", "ü"}
    assert next(name for name, _ in index.documents("thing")) == "b"
    assert index.meta("nothing") is None


def test_an_unfinished_index_is_none(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    writer = IndexWriter(path)
    writer.rows(TASKS, [_full(TASKS, 1)])

    with pytest.raises(DataError, match="not a session index"):
        Index(path)
    writer.abandon()
    assert not path.exists()


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0", b"x" * 5000], ids=["empty", "header", "text"])
def test_a_file_that_is_no_index_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "index.sqlite"
    path.write_bytes(content)

    with pytest.raises(DataError, match=r"index\.sqlite: not a session index"):
        Index(path)


def test_a_file_that_is_not_there_is_refused_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not a session index"):
        Index(tmp_path / "none.sqlite")
    assert list(tmp_path.iterdir()) == []


def test_an_index_of_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    IndexWriter(path).finish()
    with sqlite3.connect(path) as database:
        database.execute("UPDATE meta SET value = ? WHERE key = 'format'", (b'"v0"',))
    database.close()

    with pytest.raises(DataError, match="format 'v0'"):
        Index(path)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1), junk=st.binary(min_size=1, max_size=64))
def test_a_damaged_index_says_so_or_answers(tmp_path: Path, place: float, junk: bytes) -> None:
    """Never anything but `DataError`, when it is opened or when its rows are read."""
    path = tmp_path / "index.sqlite"
    path.unlink(missing_ok=True)
    writer = IndexWriter(path)
    writer.rows(TASKS, [_full(TASKS, number) for number in range(50)])
    writer.finish()
    data = bytearray(path.read_bytes())
    start = int(place * (len(data) - len(junk)))
    data[start : start + len(junk)] = junk
    path.write_bytes(data)
    try:
        index = Index(path)
    except DataError:
        return
    for query in (Query(), Query(limit=10_000, detail=True), Query((Filter("name", "=", "ä"),))):
        with contextlib.suppress(DataError):
            run(index, TASKS, query)
    index.close()


def test_several_threads_read_at_once(tmp_path: Path) -> None:
    writer = IndexWriter(tmp_path / "index.sqlite")
    writer.rows(TASKS, [_full(TASKS, number) for number in range(500)])
    writer.finish()
    index = Index(tmp_path / "index.sqlite")
    seen: list[int] = []

    def read() -> None:
        seen.extend(run(index, TASKS, Query(limit=1000)).filtered for _ in range(5))

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert seen == [500] * 40
    index.close()


def test_a_reader_cannot_write(tmp_path: Path) -> None:
    IndexWriter(tmp_path / "index.sqlite").finish()
    index = Index(tmp_path / "index.sqlite")

    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        index.database.execute("DELETE FROM meta")


def test_a_writer_that_is_told_to_stop_stops_in_the_middle(tmp_path: Path) -> None:
    asked = 0

    def stopped() -> bool:
        nonlocal asked
        asked += 1
        return asked > 5

    writer = IndexWriter(tmp_path / "index.sqlite", stopped=stopped)
    endless = (_full(TASKS, number) for number in iter(int, 1))
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        writer.rows(TASKS, endless)
    writer.abandon()
