"""Colours are left out as Ray leaves them out, wherever the bytes were cut into pieces."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayhist.logs.ansi import without_colours


async def _pieces(pieces: Sequence[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


def _plain(*pieces: bytes) -> bytes:
    async def collect() -> bytes:
        return b"".join([piece async for piece in without_colours(_pieces(pieces))])

    return asyncio.run(collect())


@pytest.mark.parametrize(
    ("coloured", "plain"),
    [
        (b"\x1b[36m(f pid=1)\x1b[0m hello\n", b"(f pid=1) hello\n"),
        (b"\x1b[1;31;40mred\x1b[0m", b"red"),
        (b"\x1b[m is none, and \x1b[2K is none", b"\x1b[m is none, and \x1b[2K is none"),
        (b"\x1b[31", b"\x1b[31"),
        (b"\xff\x00\x1b", b"\xff\x00\x1b"),
    ],
)
def test_colour_sequences_are_left_out_and_nothing_else(coloured: bytes, plain: bytes) -> None:
    assert _plain(coloured) == plain


@given(
    parts=st.lists(
        st.sampled_from([b"\x1b", b"[", b"3", b";", b"m", b"\x1b[36m", b"text", b"\n"]), max_size=30
    ),
    cuts=st.lists(st.integers(0, 200), max_size=8),
)
def test_where_the_bytes_were_cut_makes_no_difference(parts: list[bytes], cuts: list[int]) -> None:
    text = b"".join(parts)
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[a:b] for a, b in pairwise(places)]
    assert _plain(*pieces) == _plain(text)
