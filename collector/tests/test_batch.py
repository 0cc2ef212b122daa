"""A posted body falls into its events, byte by byte; of a broken one, what is whole is kept."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rayhist_collector.batch import split

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15), 10**15) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(_JSON, max_size=5), st.sampled_from([None, 1]))
def test_every_element_comes_back_unchanged(values: list[Any], indent: int | None) -> None:
    elements = [json.dumps(value, indent=indent).encode() for value in values]
    body = b" [" + b" , ".join(elements) + b"]\n"
    assert split(body) == elements


@given(st.lists(st.dictionaries(st.text(), st.text()), min_size=1, max_size=5), st.data())
def test_a_cut_body_keeps_its_whole_elements_and_the_rest(values: list[Any], data: st.DataObject) -> None:
    elements = [json.dumps(value).encode() for value in values]
    body = b"[" + b",".join(elements) + b"]"
    cut = body[: data.draw(st.integers(1, len(body) - 1))]
    whole = [n for n in range(len(elements) + 1) if len(b"[" + b",".join(elements[:n])) <= len(cut)]
    found = split(cut)
    assert found[: max(whole)] == elements[: max(whole)]
    assert len(found) <= max(whole) + 1


def test_elements_before_a_broken_one_are_kept() -> None:
    assert split(b'[{"a":1}, {"b":, {"c":3}]') == [b'{"a":1}', b'{"b":, {"c":3}']


def test_what_is_no_array_is_one_piece_and_nothing_is_none() -> None:
    assert split(b"garbage \xff") == [b"garbage \xff"]
    assert split(b'{"a":1}') == [b'{"a":1}']
    assert split(b"") == split(b" \n") == split(b"[]") == []


@given(st.binary())
def test_no_body_is_an_error(body: bytes) -> None:
    assert isinstance(split(body), list)
