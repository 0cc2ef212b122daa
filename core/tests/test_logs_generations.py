"""Files keep their identity when Ray renames them, and every generation keeps a name to be found by."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from rayhist.index import LogRange
from rayhist.logpack import PackedFile, RangeEntry, Table
from rayhist.replay.logs_generations import NodeFiles
from rayhist_testkit.logs import NODE, LogArchive, Packed, contents, tables


def _entry(file_id: str, start: int, end: int) -> RangeEntry:
    return RangeEntry(file_id, start, end, header_offset=0, compressed=0, method=8, crc=0)


def _table(*files: PackedFile, ranges: Sequence[RangeEntry] = ()) -> Table:
    return Table(files=list(files), ranges=list(ranges))


def _sizes(files: NodeFiles) -> dict[str, int]:
    return {row.path: row.size for row, _ in files.files()}


def _recorded(archive: LogArchive) -> dict[str, bytes]:
    with tables(archive) as found:
        return {path: data for (_, path), data in contents(archive.store, found).items()}


def test_a_renamed_file_has_its_last_name_and_all_of_its_bytes() -> None:
    archive = LogArchive()

    async def build() -> None:
        await archive.pack([Packed(PackedFile("a", "raylet.out"), [(0, b"one\n")])])
        await archive.pack(
            [
                Packed(PackedFile("a", "raylet.out.1", ["raylet.out"]), [(4, b"two\n")]),
                Packed(PackedFile("b", "raylet.out"), [(0, b"three\n")]),
            ]
        )

    asyncio.run(build())
    assert _recorded(archive) == {"raylet.out": b"three\n", "raylet.out.1": b"one\ntwo\n"}


def test_a_file_that_was_only_named_is_empty() -> None:
    files = NodeFiles(NODE)
    files.add_pack("1", 1, _table(PackedFile("a", "raylet.err"), PackedFile("b", "raylet.out")))
    assert _sizes(files) == {"raylet.err": 0, "raylet.out": 0}
    files.add_pack("2", 2, _table(PackedFile("c", "raylet.err"), ranges=[_entry("c", 0, 5)]))
    assert _sizes(files) == {"raylet.err": 5, "raylet.out": 0}


def test_an_empty_folder_is_known_by_its_slash() -> None:
    files = NodeFiles(NODE)
    files.add_pack("1", 1, _table(PackedFile("a", "old", folder=True), PackedFile("b", "older")))
    assert _sizes(files) == {"old/": 0, "older": 0}


def test_generations_that_fell_out_of_rays_ring_get_the_next_free_numbers() -> None:
    """Ray keeps so many backups and then renames over the oldest: 20 rotations, none is lost."""
    rotations, backups = 20, 5
    archive = LogArchive()

    async def build() -> None:
        for now in range(rotations + 1):
            files = []
            for generation in range(max(0, now - backups), now + 1):
                age = now - generation
                names = ["gcs_server.out", *(f"gcs_server.out.{number}" for number in range(1, age + 1))]
                file = PackedFile(f"g{generation}", names[-1], names[:-1])
                files.append(Packed(file, [(0, b"generation %d\n" % generation)] if age == 0 else []))
            await archive.pack(files)

    asyncio.run(build())
    assert _recorded(archive) == {
        f"gcs_server.out.{age}" if age else "gcs_server.out": b"generation %d\n" % (rotations - age)
        for age in range(rotations + 1)
    }


def test_of_two_files_of_one_name_the_newer_keeps_it() -> None:
    """A file that was deleted and made anew, without a rotation."""
    files = NodeFiles(NODE)
    for moment, identity in enumerate(("old", "older-than-new", "new")):
        packed = PackedFile(identity, "monitor.log")
        files.add_pack(f"pack{moment}", moment, _table(packed, ranges=[_entry(identity, 0, moment + 1)]))
    assert _sizes(files) == {"monitor.log": 3, "monitor.log.2": 2, "monitor.log.3": 1}


def test_of_two_files_in_one_pack_the_one_with_the_later_id_is_newer() -> None:
    """As after a roll-up of many packs into one; ids begin with the time at which a file was first seen."""
    files = NodeFiles(NODE)
    newer, older = PackedFile("1796052660000-1", "monitor.log"), PackedFile("1796052650000-2", "monitor.log")
    entries = [_entry(newer.id, 0, 2), _entry(older.id, 0, 1)]
    files.add_pack("pack", 1, _table(newer, older, ranges=entries))
    assert _sizes(files) == {"monitor.log": 2, "monitor.log.2": 1}


def test_a_number_that_is_taken_is_not_given_again() -> None:
    files = NodeFiles(NODE)
    for moment, (identity, path) in enumerate(
        [("a", "raylet.out"), ("b", "raylet.out.2"), ("c", "raylet.out"), ("d", "raylet.out.2")]
    ):
        packed = PackedFile(identity, path)
        files.add_pack(f"pack{moment}", moment, _table(packed, ranges=[_entry(identity, 0, moment + 1)]))
    assert _sizes(files) == {"raylet.out": 3, "raylet.out.2": 4, "raylet.out.3": 2, "raylet.out.4": 1}


def test_the_longest_history_names_a_file_whatever_the_order_of_packs() -> None:
    """A pack that replaces many small ones stands where the first of them stood."""
    before = _table(PackedFile("a", "raylet.out"), ranges=[_entry("a", 0, 5)])
    after = _table(PackedFile("a", "raylet.out.1", ["raylet.out"]), ranges=[_entry("a", 0, 9)])
    for order in ((before, after), (after, before)):
        files = NodeFiles(NODE)
        for moment, table in enumerate(order):
            files.add_pack(f"pack{moment}", moment, table)
        assert _sizes(files) == {"raylet.out.1": 9}


def test_a_file_that_was_named_and_never_written_to_is_empty() -> None:
    files = NodeFiles(NODE)
    files.add_pack("pack", 1, _table(PackedFile("a", "raylet.err")))
    assert [(row.path, row.size, row.missing, ranges) for row, ranges in files.files()] == [
        ("raylet.err", 0, 0, [])
    ]


def test_the_same_file_recorded_by_two_collectors_is_listed_once() -> None:
    """And the bytes that are missing in one record come from the other."""
    archive = LogArchive()
    asyncio.run(archive.pack([Packed(PackedFile("a", "raylet.out"), [(4, b"two\n")])]))
    asyncio.run(archive.file("raylet.out", b"one\ntwo\n"))
    assert _recorded(archive) == {"raylet.out": b"one\ntwo\n"}


def test_a_file_that_is_rewritten_takes_the_name_of_what_was_stored_before() -> None:
    files = NodeFiles(NODE)
    files.add_pack("pack", 1, _table(PackedFile("a", "debug_state.txt"), ranges=[_entry("a", 0, 50)]))
    files.add_file("debug_state.txt", "whole", 40, modified_ms=2)
    assert _sizes(files) == {"debug_state.txt": 40, "debug_state.txt.2": 50}


RANGES = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 30)), min_size=1, max_size=15)


@settings(max_examples=200)
@given(RANGES)
def test_ranges_are_sorted_disjoint_and_cover_what_they_covered_before(given: list[tuple[int, int]]) -> None:
    files = NodeFiles(NODE)
    entries = [_entry("a", start, start + length) for start, length in given]
    files.add_pack("pack", 1, _table(PackedFile("a", "worker.out"), ranges=entries))
    [(row, ranges)] = files.files()
    covered = {place for start, length in given for place in range(start, start + length)}
    assert [place for one in ranges for place in range(one.start, one.end)] == sorted(covered)
    assert row.size == max(covered) + 1
    assert row.missing == row.size - len(covered)
    assert all(isinstance(one, LogRange) and one.key == "pack" for one in ranges)
