"""Log packs: what was packed is read, by any tool and by ranges; damage is a `DataError` and nothing else."""

from __future__ import annotations

import zipfile
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rayhist import logpack
from rayhist.errors import BadIdentifier, DataError
from rayhist.logpack import (
    FILES_MEMBER,
    PackedFile,
    PackWriter,
    RangeEntry,
    Table,
    member_span,
    read_member,
    read_table,
)

RAYLET = PackedFile("a1-7", "raylet.out", ["raylet.out.1"], 7)
WORKER = PackedFile("a1-8", "worker-é.err")

ranges = st.lists(
    st.tuples(st.sampled_from(["a1-7", "a1-8"]), st.binary(min_size=1, max_size=300)), max_size=8
)


def pack(pieces: list[tuple[str, int, bytes]], files: tuple[PackedFile, ...] = (RAYLET, WORKER)) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "pack.zip"
        with PackWriter(path) as writer:
            for file in files:
                writer.name(file)
            for file_id, start, data in pieces:
                writer.add(file_id, start, data)
        return path.read_bytes()


def placed(pieces: list[tuple[str, bytes]]) -> list[tuple[str, int, bytes]]:
    """Give each piece its place behind the piece before it of its file."""
    ends: dict[str, int] = {}
    found = []
    for file_id, data in pieces:
        start = ends.get(file_id, 10**12)
        ends[file_id] = start + len(data)
        found.append((file_id, start, data))
    return found


def read(data: bytes) -> tuple[Table, list[tuple[str, int, bytes]]]:
    """Everything in a pack, each range fetched as a reader of a store fetches it."""
    table = read_table(data, "pack")
    pieces = []
    for entry in table.ranges:
        begin, end = member_span(entry)
        pieces.append((entry.file_id, entry.start, read_member(data[begin:end], entry, "pack")))
    return table, pieces


@given(ranges)
def test_what_was_packed_is_read_range_by_range(pieces: list[tuple[str, bytes]]) -> None:
    table, found = read(pack(placed(pieces)))
    assert found == placed(pieces)
    assert table.files == [RAYLET, WORKER]


@given(ranges)
def test_a_range_read_agrees_with_zipfile(pieces: list[tuple[str, bytes]]) -> None:
    data = pack(placed(pieces))
    with zipfile.ZipFile(BytesIO(data)) as archive:
        assert archive.testzip() is None
        for entry in read_table(data, "pack").ranges:
            begin, end = member_span(entry)
            name = f"ranges/{entry.file_id}/{entry.start:020d}-{entry.end:020d}"
            assert read_member(data[begin:end], entry, "pack") == archive.read(name)


@given(ranges)
def test_the_same_ranges_make_the_same_bytes(pieces: list[tuple[str, bytes]]) -> None:
    assert pack(placed(pieces)) == pack(placed(pieces))


def test_all_bytes_come_back() -> None:
    data = bytes(range(256)) * 1000
    assert read(pack([("a1-7", 0, data)]))[1] == [("a1-7", 0, data)]


def test_a_long_range_is_split_into_members_a_reader_can_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logpack, "MAX_MEMBER_BYTES", 1000)
    data = bytes(range(250)) * 11
    _, pieces = read(pack([("a1-7", 5, data)]))
    assert [(start, len(piece)) for _, start, piece in pieces] == [(5, 1000), (1005, 1000), (2005, 750)]
    assert b"".join(piece for _, _, piece in pieces) == data


def test_a_rename_alone_is_worth_a_pack(tmp_path: Path) -> None:
    with PackWriter(tmp_path / "a.zip") as writer:
        assert writer.empty
        writer.name(RAYLET)
        assert not writer.empty
    assert read_table((tmp_path / "a.zip").read_bytes(), "pack").files == [RAYLET]


def test_a_file_object_is_read_as_bytes_are(tmp_path: Path) -> None:
    data = pack([("a1-7", 0, b"data")])
    (tmp_path / "a.zip").write_bytes(data)
    with (tmp_path / "a.zip").open("rb") as file:
        assert read_table(file, "pack") == read_table(data, "pack")


@pytest.mark.parametrize("file_id", ["", "A", "a/b", "..", "x" * 65, "a\n"])
def test_a_file_id_that_could_be_a_path_is_refused(tmp_path: Path, file_id: str) -> None:
    with PackWriter(tmp_path / "a.zip") as writer:
        with pytest.raises(BadIdentifier):
            writer.name(PackedFile(file_id, "raylet.out"))
        with pytest.raises(BadIdentifier, match="not named first"):
            writer.add(file_id, 0, b"data")


@pytest.mark.parametrize("path", ["", "../raylet.out", "/etc/passwd", "a\0b"])
def test_a_path_out_of_the_logs_is_neither_written_nor_believed(tmp_path: Path, path: str) -> None:
    with PackWriter(tmp_path / "a.zip") as writer, pytest.raises(BadIdentifier):
        writer.name(PackedFile("a1-7", path))
    for file in (PackedFile("a1-7", path), PackedFile("a1-7", "raylet.out", [path])):
        with pytest.raises(DataError, match="pack"):
            read_table(forged({FILES_MEMBER: msgspec.json.encode([file])}), "pack")


def forged(members: dict[str, bytes]) -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


NAMES = msgspec.json.encode([RAYLET])
START = "00000000000000000000"


@pytest.mark.parametrize(
    "members",
    [
        {},
        {FILES_MEMBER: b""},
        {FILES_MEMBER: b"["},
        {FILES_MEMBER: b"[" * 100_000},
        {FILES_MEMBER: b'[{"id": 1}]'},
        {FILES_MEMBER: b'[{"id": "../x", "path": "a"}]'},
        {FILES_MEMBER: NAMES, f"ranges/a1-7/{START}-00000000000000000009": b"data"},
        {FILES_MEMBER: NAMES, f"ranges/a1-7/00000000000000000004-{START}": b"data"},
    ],
)
def test_a_table_that_contradicts_itself_is_not_believed(members: dict[str, bytes]) -> None:
    with pytest.raises(DataError):
        read_table(forged(members), "pack")


def test_what_another_tool_added_to_a_pack_is_left_out() -> None:
    members = {
        FILES_MEMBER: NAMES,
        "ranges/a1-7/1-5": b"data",
        "../evil": b"",
        "README": b"",
        "ranges/x": b"",
    }
    assert read_table(forged(members), "pack").ranges == []


def test_a_range_that_would_fill_the_memory_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pack([("a1-7", 0, b"x" * 5000)])
    monkeypatch.setattr(logpack, "MAX_MEMBER_BYTES", 4999)
    with pytest.raises(DataError, match="5000"):
        read_table(data, "pack")


WHOLE = pack([("a1-7", 0, b"hello " * 50), ("a1-8", 7, bytes(range(256)))])


@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=4))
@example([(WHOLE.rindex(b"PK\x05\x06") + 19, 0xFF)])
def test_changed_bytes_give_a_data_error_or_the_right_bytes(changes: list[tuple[int, int]]) -> None:
    damaged = bytearray(WHOLE)
    for place, value in changes:
        damaged[place] = value
    try:
        _, pieces = read(bytes(damaged))
    except DataError:
        return
    for _, _, data in pieces:
        assert data in {b"hello " * 50, bytes(range(256))}, "the check sum tells"


def test_every_byte_matters_in_isolation() -> None:
    for place in range(len(WHOLE)):
        damaged = bytearray(WHOLE)
        damaged[place] ^= 0xFF
        try:
            read(bytes(damaged))
        except DataError:
            continue


def test_a_pack_cut_anywhere_is_a_data_error() -> None:
    for cut in range(len(WHOLE)):
        with pytest.raises(DataError):
            read(WHOLE[:cut])


@given(st.binary(max_size=300), st.sampled_from([b"", b"PK\x03\x04", b"PK\x05\x06" + b"\0" * 18]))
def test_garbage_is_a_data_error(garbage: bytes, end: bytes) -> None:
    try:
        read(garbage + end)
    except DataError:
        return
    pytest.fail("garbage was believed")


def test_a_span_that_came_back_short_or_wrong_is_a_data_error() -> None:
    [entry, _] = read_table(WHOLE, "pack").ranges
    begin, end = member_span(entry)
    span = WHOLE[begin:end]
    for wrong in (b"", span[:10], span[: entry.compressed], b"x" + span, WHOLE[begin + 1 : end]):
        with pytest.raises(DataError, match="some/key"):
            read_member(wrong, entry, "some/key")


def test_an_entry_from_elsewhere_is_a_data_error() -> None:
    entry = RangeEntry("a1-7", 0, 10, header_offset=0, compressed=5, method=8, crc=1)
    with pytest.raises(DataError):
        read_member(WHOLE, entry, "pack")
