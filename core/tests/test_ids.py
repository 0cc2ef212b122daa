"""Identifiers: what passes is canonical and harmless, what does not is refused with the reason."""

from __future__ import annotations

import base64
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayhist import ids
from rayhist.errors import BadIdentifier
from rayhist.ids import Cluster, ClusterKind, IdKind, Session

KINDS = st.sampled_from(list(IdKind))


@given(KINDS, st.data())
def test_a_base64_id_becomes_hex_of_its_length(kind: IdKind, data: st.DataObject) -> None:
    raw = data.draw(st.binary(min_size=kind.size, max_size=kind.size))
    as_hex = ids.hex_from_base64(kind, base64.b64encode(raw).decode())
    assert bytes.fromhex(as_hex) == raw
    assert ids.hex_id(kind, as_hex.upper()) == as_hex


@given(KINDS, st.binary(max_size=40))
def test_a_base64_id_of_another_length_is_refused(kind: IdKind, raw: bytes) -> None:
    text = base64.b64encode(raw).decode()
    if len(raw) in {0, kind.size}:
        assert len(ids.hex_from_base64(kind, text)) == 2 * len(raw)
    else:
        with pytest.raises(BadIdentifier, match=f"has {kind.size} bytes, not {len(raw)}"):
            ids.hex_from_base64(kind, text)


@given(KINDS, st.text())
def test_any_text_is_an_id_or_refused(kind: IdKind, text: str) -> None:
    for read in (ids.hex_id, ids.hex_from_base64):
        try:
            found = read(kind, text)
        except BadIdentifier:
            continue
        assert found == "" or (len(found) == 2 * kind.size and bytes.fromhex(found))


def test_ids_are_decoded_by_their_type_and_not_by_their_look() -> None:
    """A job's base64 id of eight letters looks like hex, and is not."""
    assert ids.hex_from_base64(IdKind.JOB, "AQAAAA==") == "01000000"
    for text in ("abcdef01", "task-1", "01000000", "AQAAAA", "AQAAAA==\n", "AQ\u00e9AAA=="):
        with pytest.raises(BadIdentifier):
            ids.hex_from_base64(IdKind.JOB, text)


def test_the_nil_id_is_all_ones() -> None:
    assert ids.nil_id(IdKind.JOB) == "ffffffff"
    assert ids.hex_id(IdKind.ACTOR, ids.nil_id(IdKind.ACTOR)) == "f" * 32


@pytest.mark.parametrize(
    "name",
    [
        "session_2026-11-30_15-30-13_707929_24810",
        "session_2026-11-30_15-30-13_707929",
    ],
)
def test_session_names_are_those_ray_makes(name: str) -> None:
    assert ids.session_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "session_latest",
        "session_2026-11-30_15-30-13_707929_24810/..",
        "session_2026-11-30_15-30-13_707929_24810\n",
        "session_2026-11-30_15-30-13_70792\u0669",  # an Arabic digit
        "Session_2026-11-30_15-30-13_707929",
        "session_2026-11-30_15-30-13_707929_" + "1" * 21,
    ],
)
def test_other_session_names_are_refused(name: str) -> None:
    with pytest.raises(BadIdentifier, match="session"):
        ids.session_name(name)


@given(st.text(alphabet="abz019-.", min_size=1, max_size=300))
def test_kubernetes_names_pass_and_others_do_not(name: str) -> None:
    good = name[0] not in "-." and name[-1] not in "-." and ".." not in name and len(name) <= 253
    if good:
        assert ids.dns_name("namespace", name) == name
    else:
        with pytest.raises(BadIdentifier, match="namespace must be"):
            ids.dns_name("namespace", name)


@pytest.mark.parametrize("name", ["", "UPPER", "a_b", "a/b", "a\n", "é", "..", "a..b", "a b", "a\0"])
def test_names_that_could_mean_something_else_are_refused(name: str) -> None:
    with pytest.raises(BadIdentifier):
        ids.dns_name("cluster name", name)


@given(st.text())
def test_a_path_that_passes_stays_below_its_folder(path: str) -> None:
    try:
        passed = ids.relative_path(path)
    except BadIdentifier:
        return
    assert passed == path
    pure = PurePosixPath("/root") / path
    assert ".." not in pure.parts
    assert str(pure) == f"/root/{path}", "no part was dropped or read in another way"
    assert path.isprintable() or all(ord(character) >= 0x20 for character in path)


@given(st.lists(st.sampled_from(["a", "..", ".", "", "\0", "\\", "/", "\ud800", "\n"]), max_size=5))
def test_a_path_with_a_hostile_part_is_refused(parts: list[str]) -> None:
    path = "/".join(parts)
    if all(part == "a" for part in parts) and parts:
        assert ids.relative_path(path) == path
    else:
        with pytest.raises(BadIdentifier):
            ids.relative_path(path)


def test_lengths_are_counted_in_bytes() -> None:
    assert ids.relative_path("é" * 127)
    for path in ("é" * 128, "x" * 256, "/".join(["x" * 200] * 4)):
        with pytest.raises(BadIdentifier):
            ids.relative_path(path)
    assert ids.object_key("/".join(["x" * 200] * 5))
    with pytest.raises(BadIdentifier):
        ids.object_key("/".join(["x" * 200] * 6))


def test_a_refusal_does_not_repeat_a_long_text() -> None:
    with pytest.raises(BadIdentifier) as caught:
        ids.hex_id(IdKind.NODE, "x" * 10_000)
    assert len(str(caught.value)) < 200


def test_a_cluster_has_an_owner_if_its_kind_has_one() -> None:
    assert Cluster(ClusterKind.RAYCLUSTER, "ns", "c").path == "raycluster/ns/c"
    assert Cluster(ClusterKind.RAYJOB, "ns", "c", "job").path == "rayjob/ns/job/c"
    with pytest.raises(BadIdentifier, match="needs an owner"):
        Cluster(ClusterKind.RAYSERVICE, "ns", "c")
    with pytest.raises(BadIdentifier, match="has no owner"):
        Cluster(ClusterKind.RAYCLUSTER, "ns", "c", "o")
    with pytest.raises(BadIdentifier, match="session"):
        Session(Cluster(ClusterKind.RAYCLUSTER, "ns", "c"), "../x")
