"""Queries, read as Ray's dashboard reads them."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayhist.query import BadQuery, Filter, Query
from rayhist_server.query_params import first, list_query, parse


def test_without_parameters_ray_s_defaults_hold() -> None:
    assert list_query(parse(b"")) == Query(filters=(), limit=100, detail=False, exclude_driver=True)


def test_everything_can_be_given() -> None:
    query = b"limit=5&detail=1&exclude_driver=false&timeout=9&filter_keys=state&filter_predicates=%3D"
    query += b"&filter_values=FAILED&filter_keys=name&filter_predicates=!%3D&filter_values=a+b"
    assert list_query(parse(query)) == Query(
        filters=(Filter("state", "=", "FAILED"), Filter("name", "!=", "a b")),
        limit=5,
        detail=True,
        exclude_driver=False,
    )


@pytest.mark.parametrize(
    ("query", "text"),
    [
        (b"limit=abc", "invalid literal for int() with base 10: 'abc'"),
        (b"limit=", "invalid literal for int() with base 10: ''"),
        (b"limit=1.5", "invalid literal"),
        (b"timeout=x", "invalid literal"),
        (b"detail=yes", "Failed to convert a value yes"),
        (b"exclude_driver=2", "Failed to convert a value 2"),
        (b"filter_keys=a", "must be given equally often, not 1, 0 and 0 times"),
        (b"filter_keys=a&filter_predicates=%3E&filter_values=b", "Unsupported filter predicate >"),
        (b"limit=" + b"9" * 10_000, "invalid literal"),
        (b"a=1&" * 2000, "the query cannot be read"),
    ],
)
def test_what_is_wrong_is_said_in_few_words(query: bytes, text: str) -> None:
    with pytest.raises(BadQuery) as failure:
        list_query(parse(query))
    assert text in str(failure.value)
    assert len(str(failure.value)) < 500


def test_a_blank_parameter_is_there() -> None:
    assert "job_id" in parse(b"job_id=")
    assert first(parse(b"job_id="), "job_id", "default") == ""


@given(st.binary(max_size=300))
def test_any_query_is_read_or_refused(query: bytes) -> None:
    with contextlib.suppress(BadQuery):
        list_query(parse(query))
