"""Markers and manifests: what was written is read, by older and newer readers too, and damage is named."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayhist.errors import DataError
from rayhist.manifest import (
    Ending,
    JobSummary,
    Loss,
    NodeManifest,
    SessionMarker,
    Stored,
    read_manifest,
    read_marker,
)

numbers = st.integers(0, 2**53)
texts = st.text(max_size=10)
stored = st.builds(Stored, numbers, numbers, numbers, numbers)


@given(
    st.builds(
        SessionMarker,
        start_ms=numbers,
        end_ms=numbers,
        ending=st.sampled_from(list(Ending)),
        labels=st.dictionaries(texts, texts, max_size=3),
        jobs=st.lists(st.builds(JobSummary, texts, texts, texts), max_size=3),
    )
)
def test_a_marker_comes_back(marker: SessionMarker) -> None:
    assert read_marker(msgspec.json.encode(marker), "key") == marker


@given(
    st.builds(
        NodeManifest,
        node_id=texts,
        ending=st.sampled_from(list(Ending)),
        events=st.dictionaries(texts, stored, max_size=3),
        logs=st.dictionaries(texts, stored, max_size=3),
        losses=st.lists(st.builds(Loss, texts, texts, numbers), max_size=3),
        warnings=st.lists(texts, max_size=3),
    )
)
def test_a_manifest_comes_back(manifest: NodeManifest) -> None:
    assert read_manifest(msgspec.json.encode(manifest), "key") == manifest


@pytest.mark.parametrize("data", [b"", b" \n"])
def test_kuberays_empty_marker_is_a_marker_that_says_nothing(data: bytes) -> None:
    assert read_marker(data, "key") == SessionMarker()
    assert read_manifest(data, "key") == NodeManifest()


def test_fields_of_a_newer_writer_are_left_out() -> None:
    assert read_marker(b'{"start_ms": 1, "of_tomorrow": {"a": [1]}}', "key") == SessionMarker(start_ms=1)


def test_an_empty_document_says_that_the_session_runs() -> None:
    """A default is not written, so an absent field and the default have to mean the same."""
    assert msgspec.json.encode(SessionMarker(layout_version=1, start_ms=5)).count(b":") <= 2
    assert read_marker(b"{}", "key").ending is Ending.RUNNING


@pytest.mark.parametrize(
    "data",
    [b"{", b"[]", b"null", b'"text"', b"\xff", b'{"start_ms": "1"}', b'{"jobs": [1]}', b'{"a":' * 100_000],
)
def test_damage_is_named_with_the_key(data: bytes) -> None:
    for read in (read_marker, read_manifest):
        if read is read_manifest and b"jobs" in data:
            continue  # it has no such field
        with pytest.raises(DataError, match="some/key"):
            read(data, "some/key")


@given(st.binary(max_size=100))
def test_garbage_is_a_document_or_damage(data: bytes) -> None:
    for read in (read_marker, read_manifest):
        try:
            read(data, "key")
        except DataError:
            continue
