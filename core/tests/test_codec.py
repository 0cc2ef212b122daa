"""JSON lines: what was written is read, and what is broken costs only itself."""

from __future__ import annotations

import gzip
import json
import tracemalloc

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rayhist import codec
from rayhist.codec import Damage, decode, encode
from rayhist.errors import DataError

SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8)
OBJECTS = st.lists(st.fixed_dictionaries({"a": SCALARS, "b": st.lists(SCALARS, max_size=2)}), max_size=5)


def lines_of(values: list[object]) -> list[bytes]:
    return [msgspec.json.encode(value) for value in values]


def read(data: bytes) -> tuple[list[bytes], Damage]:
    damage = Damage()
    return list(decode(data, damage)), damage


@given(OBJECTS)
def test_what_was_encoded_is_read(values: list[object]) -> None:
    found, damage = read(encode(lines_of(values)))
    assert found == lines_of(values)
    assert damage == Damage()


@given(OBJECTS)
def test_the_same_lines_make_the_same_bytes(values: list[object]) -> None:
    """So that what is sent twice is the same object."""
    assert encode(lines_of(values)) == encode(lines_of(values))


@given(OBJECTS, st.booleans(), st.sampled_from([b"\n", b"\r\n", b"\n\n \n"]))
def test_plain_lines_are_read_with_or_without_a_last_line_break(
    values: list[object], closed: bool, line_break: bytes
) -> None:
    lines = lines_of(values)
    data = line_break.join(lines) + (line_break if closed else b"")
    assert read(data) == (lines, Damage())


@given(OBJECTS, st.booleans())
def test_an_array_is_read_as_its_values(values: list[object], zipped: bool) -> None:
    """KubeRay's older event files."""
    data = json.dumps(values, indent=1, ensure_ascii=False).encode()
    found, damage = read(gzip.compress(data) if zipped else data)
    assert [msgspec.json.decode(line) for line in found] == values
    assert damage == Damage()


@given(st.lists(OBJECTS, min_size=1, max_size=4))
def test_concatenated_members_are_all_read(files: list[list[object]]) -> None:
    """A file that a restarted writer appended to."""
    data = b"".join(encode(lines_of(values)) for values in files)
    assert read(data) == ([line for values in files for line in lines_of(values)], Damage())


def test_a_second_member_behind_a_large_one_is_read() -> None:
    large = [b'"' + bytes(str(number), "ascii") * 9 + b'"' for number in range(100_000)]
    for split in (0, 1, 50_000, 99_999):
        data = encode(large[:split], level=0) + encode(large[split:], level=1)
        assert read(data) == (large, Damage())


LINES = lines_of([{"n": number, "text": "é" * number} for number in range(20)])


def test_a_gzip_cut_at_any_byte_costs_only_its_tail() -> None:
    data = encode(LINES)
    for cut in range(2, len(data)):
        found, damage = read(data[:cut])
        assert found == LINES[: len(found)], cut
        assert damage.reason, cut


def test_plain_lines_cut_at_any_byte_cost_only_the_last() -> None:
    data = b"".join(line + b"\n" for line in LINES)
    for cut in range(len(data)):
        found, damage = read(data[:cut])
        whole = data[:cut].count(b"\n")
        assert found[:whole] == LINES[:whole]
        torn = data[:cut].rpartition(b"\n")[2]
        assert bool(damage.reason) == bool(torn and torn not in LINES)


@given(st.data())
def test_a_damaged_byte_costs_at_most_what_follows_it(data: st.DataObject) -> None:
    whole = bytearray(encode(LINES))
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    found, _ = read(bytes(whole))
    assert all(isinstance(line, bytes) for line in found)


@given(
    st.binary(max_size=500), st.sampled_from([b"", b"\x1f\x8b", b"\x1f\x8b\x08\x00", b"[", b"[{", b'{"a":'])
)
@example(b"[" * 100_000, b"")
@example(b"[" * 100_000, b'{"a":')
@example(b"\xff\xfe", b'"')
def test_garbage_never_raises(garbage: bytes, start: bytes) -> None:
    found, damage = read(start + garbage)
    assert all(found), "no empty lines"
    assert isinstance(damage.reason, str)
    read(gzip.compress(start + garbage))


def test_bytes_behind_the_gzip_stream_are_noted() -> None:
    found, damage = read(encode(LINES) + b"more")
    assert found == LINES
    assert "follow" in damage.reason


def test_a_line_that_is_too_long_costs_just_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "MAX_LINE_BYTES", 3 * 1024 * 1024)
    long = b'"' + b"x" * 5 * 1024 * 1024 + b'"'
    for data in (b"\n".join([b"1", long, b"2", long, long, b"3"]), b"1\n2\n3\n" + long):
        for stored in (data, gzip.compress(data)):
            found, damage = read(stored)
            assert [line for line in found if line != long] == [b"1", b"2", b"3"]
            assert "longer than" in damage.reason


def test_an_array_that_is_too_long_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "MAX_ARRAY_BYTES", 10)
    found, damage = read(b"[1,2,3,4,5,6,7]")
    assert found == []
    assert "array is longer" in damage.reason


def test_a_gzip_bomb_is_read_in_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """40 MB of one letter, in 40 KB."""
    monkeypatch.setattr(codec, "MAX_LINE_BYTES", 2_000_000)
    bomb = gzip.compress(b"x" * 40_000_000, compresslevel=1)
    tracemalloc.start()
    try:
        found, damage = read(bomb)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found == []
    assert "longer than" in damage.reason
    assert peak < 10_000_000


def test_a_document_that_is_no_json_is_named() -> None:
    assert codec.decode_json(b'{"a": [1]}', "k") == {"a": [1]}
    for data in (b"", b"{", b"\xff", b"[" * 100_000):
        with pytest.raises(DataError, match="some/key"):
            codec.decode_json(data, "some/key")
