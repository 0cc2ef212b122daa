"""However a log file came into the archive: its bytes come back exactly, and its last lines too."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Iterable
from itertools import pairwise
from unittest.mock import patch

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from rayhist.index import LogTables
from rayhist.logpack import PackedFile
from rayhist.logs import ALL_LINES, LogSlice, reading, sections
from rayhist.storage import Store
from rayhist_testkit.logs import NODE, LogArchive, Packed, content, contents, tables

TEXTS = st.lists(
    st.sampled_from(
        [b"\n", b"\r\n", b"a line\n", b"no end", b"\x1b[36mcolour\x1b[0m", b"\0\xff\n", b"x" * 70]
    ),
    max_size=25,
).map(b"".join)


class Plan(msgspec.Struct, frozen=True):
    """A log's life: every generation's bytes, and a seed for how they were cut, repeated and packed."""

    generations: list[bytes]
    packs: int
    repeats: int
    seed: int


PLANS = st.builds(
    Plan,
    generations=st.lists(TEXTS.filter(bool), min_size=1, max_size=4),
    packs=st.integers(1, 5),
    repeats=st.integers(0, 6),
    seed=st.integers(0, 2**32),
)


def _cut(data: bytes, chance: random.Random, repeats: int) -> list[tuple[int, bytes]]:
    """Contiguous ranges of the data, and others that repeat parts of it, in any order."""
    places = sorted({0, len(data), *(chance.randint(0, len(data)) for _ in range(3))})
    ranges = [(a, data[a:b]) for a, b in pairwise(places)]
    for _ in range(repeats):
        a, b = sorted((chance.randint(0, len(data)), chance.randint(0, len(data))))
        if a < b:
            ranges.append((a, data[a:b]))
    chance.shuffle(ranges)
    return ranges


async def _store_in_packs(archive: LogArchive, plan: Plan) -> dict[str, bytes]:
    """Each rotation renames all older generations, in one pack; returns what should be there at the end."""
    chance = random.Random(plan.seed)
    last = len(plan.generations) - 1
    for number, data in enumerate(plan.generations):
        shares: list[list[tuple[int, bytes]]] = [[] for _ in range(plan.packs)]
        for one in _cut(data, chance, plan.repeats):
            share = chance.choice(shares)
            if one not in share:
                share.append(one)
        for share in shares:
            older = [Packed(_named(k, number)) for k in range(number)]
            await archive.pack([*older, Packed(_named(number, number), share)])
    return {_path(last - k): data for k, data in enumerate(plan.generations)}


def _named(generation: int, newest: int) -> PackedFile:
    age = newest - generation
    return PackedFile(f"f{generation}", _path(age), [_path(older) for older in range(age)])


def _path(age: int) -> str:
    return f"raylet.out.{age}" if age else "raylet.out"


def _last_lines(data: bytes, count: int) -> bytes:
    lines = re.findall(rb"[^\n]*\n|[^\n]+\Z", data)
    return b"".join(lines[-count:])


def _tails(store: Store, found: LogTables, path: str, size: int, counts: Iterable[int]) -> list[bytes]:
    async def read() -> list[bytes]:
        what = LogSlice(NODE, path, 0, size)
        return [await content(store, found, what, lines=lines) for lines in counts]

    return asyncio.run(read())


@settings(max_examples=40, deadline=None)
@given(plan=PLANS)
def test_packs_in_any_split_with_any_repetition_and_rotation_give_every_byte_back(plan: Plan) -> None:
    archive = LogArchive()
    expected = asyncio.run(_store_in_packs(archive, plan))
    with (
        tables(archive) as found,
        patch.object(sections, "_PAGE", 2),
        patch.object(reading, "_KEEP_BYTES", 20),
    ):
        assert contents(archive.store, found) == {(NODE, path): data for path, data in expected.items()}
        assert not any(file.missing for file in found.log_files(NODE))
        for path, data in expected.items():
            tails = _tails(archive.store, found, path, len(data), (1, 2, 5, 1000, ALL_LINES))
            assert tails == [*(_last_lines(data, lines) for lines in (1, 2, 5, 1000)), data]


@settings(max_examples=40, deadline=None)
@given(data=TEXTS, block=st.integers(1, 40), keep=st.integers(0, 60))
def test_a_whole_file_gives_every_tail_however_it_is_fetched(data: bytes, block: int, keep: int) -> None:
    """Also when the tail does not fit into what is kept while its beginning is looked for."""
    archive = LogArchive()
    asyncio.run(archive.file("raylet.out", data))
    with (
        tables(archive) as found,
        patch.object(sections, "BLOCK_BYTES", block),
        patch.object(reading, "_KEEP_BYTES", keep),
    ):
        counts = range(1, data.count(b"\n") + 3)
        tails = _tails(archive.store, found, "raylet.out", len(data), counts)
        assert tails == [_last_lines(data, lines) for lines in counts]


@settings(max_examples=40, deadline=None)
@given(data=TEXTS.filter(bool), numbers=st.data())
def test_a_slice_gives_its_own_bytes_and_no_neighbours(data: bytes, numbers: st.DataObject) -> None:
    start = numbers.draw(st.integers(0, len(data)))
    end = numbers.draw(st.integers(start, len(data)))
    lines = numbers.draw(st.integers(1, 30))
    archive = LogArchive()
    asyncio.run(_store_in_packs(archive, Plan([data], packs=2, repeats=2, seed=start)))
    with tables(archive) as found:
        what = LogSlice(NODE, "raylet.out", start, end)
        assert asyncio.run(content(archive.store, found, what)) == data[start:end]
        tail = asyncio.run(content(archive.store, found, what, lines=lines))
        assert tail == _last_lines(data[start:end], lines)


def test_missing_bytes_are_told_where_they_are_missing() -> None:
    """The first of three packs never arrived, and neither did a range in the middle."""
    archive = LogArchive()
    file = PackedFile("f", "worker.out")
    asyncio.run(archive.pack([Packed(file, [(10, b"after the hole\n"), (40, b"the end\n")])]))
    with tables(archive) as found:
        [row] = found.log_files(NODE)
        assert (row.size, row.missing) == (48, 25)
        text = asyncio.run(content(archive.store, found, LogSlice(NODE, "worker.out", 0, 48))).decode()
    assert text == (
        f"\n[ray history: 10 bytes are missing here: {sections.NEVER_RECORDED}]\n"
        "after the hole\n"
        f"\n[ray history: 15 bytes are missing here: {sections.NEVER_RECORDED}]\n"
        "the end\n"
    )


def test_a_slice_beyond_what_was_recorded_says_what_is_missing() -> None:
    archive = LogArchive()
    asyncio.run(archive.file("worker.out", b"recorded\n"))
    with tables(archive) as found:
        text = asyncio.run(content(archive.store, found, LogSlice(NODE, "worker.out", 4, 100)))
    assert (
        text == b"rded\n\n[ray history: 91 bytes are missing here: %s]\n" % sections.NEVER_RECORDED.encode()
    )


def test_a_file_that_became_shorter_says_so() -> None:
    archive = LogArchive()
    key = asyncio.run(archive.file("debug_state.txt", b"first state\n"))
    with tables(archive) as found:
        asyncio.run(archive.file("debug_state.txt", b"second\n"))
        text = asyncio.run(content(archive.store, found, LogSlice(NODE, "debug_state.txt", 0, 12)))
    assert text == b"second\n\n[ray history: 5 bytes are missing here: %s became shorter]\n" % key.encode()
