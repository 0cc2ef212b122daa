"""A damaged pack costs that pack: its bytes are told to be missing, and no other file's bytes change."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rayhist import logpack
from rayhist.errors import DataError, Unavailable
from rayhist.index import Index, IndexWriter
from rayhist.logpack import PackedFile
from rayhist.logs import LogSlice
from rayhist_testkit.faults import FlakyStore
from rayhist_testkit.logs import NODE, LogArchive, Packed, content, contents, pack_bytes, tables

FIRST = PackedFile("first", "raylet.out")
SECOND = PackedFile("second", "gcs_server.out")
DATA = {"first": b"alpha\n" * 40, "second": bytes(range(256)) * 2}
PACK = pack_bytes([Packed(FIRST, [(0, DATA["first"])]), Packed(SECOND, [(0, DATA["second"])])])
NOTICE = re.compile(rb"\n\[ray history: \d+ bytes are missing here: [^\n]*\]\n")


def _assert_right_or_refused(data: bytes) -> None:
    """What is read is what was packed, or a `DataError` names the pack."""
    try:
        table = logpack.read_table(data, "the pack")
        for entry in table.ranges:
            start, end = logpack.member_span(entry)
            found = logpack.read_member(data[start:end], entry, "the pack")
            assert found == DATA[entry.file_id][entry.start : entry.end]
    except DataError as error:
        if "the pack" not in str(error):
            raise


@settings(max_examples=400)
@given(place=st.integers(0, len(PACK) - 1), flip=st.integers(1, 255))
def test_a_changed_byte_never_gives_wrong_bytes(place: int, flip: int) -> None:
    changed = bytearray(PACK)
    changed[place] ^= flip
    _assert_right_or_refused(bytes(changed))


@given(keep=st.integers(0, len(PACK) - 1), junk=st.binary(max_size=50))
def test_a_pack_cut_short_or_grown_never_gives_wrong_bytes(keep: int, junk: bytes) -> None:
    _assert_right_or_refused(PACK[:keep])
    _assert_right_or_refused(PACK[:keep] + junk)
    _assert_right_or_refused(PACK + junk)
    _assert_right_or_refused(junk)


@settings(max_examples=60, deadline=None)
@given(places=st.lists(st.integers(0, len(PACK) - 1), min_size=1, max_size=3), flip=st.integers(1, 255))
def test_other_packs_and_files_are_read_as_if_nothing_were_damaged(places: list[int], flip: int) -> None:
    changed = bytearray(PACK)
    for place in places:
        changed[place] ^= flip
    archive = LogArchive()
    healthy = Packed(PackedFile("third", "monitor.log"), [(0, b"untouched\n")])

    async def build() -> None:
        await archive.pack([healthy, Packed(FIRST, [(len(DATA["first"]), b"omega\n")])])
        key = await archive.pack([])
        await archive.store.put(key, bytes(changed))
        await archive.file("debug_state.txt", b"whole\n", node="0b" * 28)

    asyncio.run(build())
    with tables(archive, may_be_damaged=True) as known:
        found = contents(archive.store, known)
    assert found[NODE, "monitor.log"] == b"untouched\n"
    assert found["0b" * 28, "debug_state.txt"] == b"whole\n"
    assert NOTICE.sub(b"", found[NODE, "raylet.out"]) in {b"omega\n", DATA["first"] + b"omega\n"}


def test_a_damaged_pack_is_named_in_the_report_and_its_bytes_are_counted(tmp_path: Path) -> None:
    archive = LogArchive()

    async def build() -> tuple[str, dict[str, str]]:
        key = await archive.pack([Packed(FIRST, [(0, b"0123456789")])])
        await archive.pack([Packed(FIRST, [(10, b"after\n")])])
        await archive.store.put(key, b"PK\x05\x06 no pack")
        writer = IndexWriter(tmp_path / "index.sqlite")
        damaged = await archive.index(writer)
        writer.finish()
        return key, damaged

    key, damaged = asyncio.run(build())
    index = Index(tmp_path / "index.sqlite")
    assert list(damaged) == [key]
    assert key in damaged[key]
    assert [(file.path, file.size, file.missing) for file in index.log_files(NODE)] == [
        ("raylet.out", 16, 10)
    ]
    index.close()


def test_a_pack_that_was_deleted_meanwhile_costs_its_bytes() -> None:
    """A collector may have rolled it up since the session was indexed."""
    archive = LogArchive()
    key = asyncio.run(archive.pack([Packed(FIRST, [(0, b"gone\n")])]))
    asyncio.run(archive.pack([Packed(FIRST, [(5, b"here\n")])]))
    with tables(archive) as known:
        asyncio.run(archive.store.delete(key))
        text = asyncio.run(content(archive.store, known, LogSlice(NODE, "raylet.out", 0, 10)))
    assert NOTICE.sub(b"", text) == b"here\n"
    assert key.encode() in text


def test_an_outage_is_an_error_and_no_hole_in_a_log(tmp_path: Path) -> None:
    archive = LogArchive()
    asyncio.run(archive.pack([Packed(FIRST, [(0, b"one\n")])]))
    asyncio.run(archive.file("debug_state.txt", b"two\n"))
    with tables(archive) as known:
        down = FlakyStore(archive.store, every=1)
        for path in ("raylet.out", "debug_state.txt"):
            for lines in (-1, 1):
                with pytest.raises(Unavailable):
                    asyncio.run(content(down, known, LogSlice(NODE, path, 0, 4), lines=lines))
    archive.store = FlakyStore(archive.store, every=2)  # the listing succeeds, the pack does not
    writer = IndexWriter(tmp_path / "index.sqlite")
    with pytest.raises(Unavailable):
        asyncio.run(archive.index(writer))
    writer.abandon()
