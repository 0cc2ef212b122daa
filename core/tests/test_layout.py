"""The layout: reference → key → reference and key → reference → key, and nothing leaves its session."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayhist import ids, layout
from rayhist.errors import BadIdentifier
from rayhist.ids import Cluster, ClusterKind, IdKind, Session

NAME = "session_2026-11-30_15-30-13_707929_24810"
NODE, JOB = "ab" * 28, "01000000"
BELOW = f"cluster-history/raycluster/default/ray/{NAME}"
PLAIN = Session(Cluster(ClusterKind.RAYCLUSTER, "default", "ray"), NAME)

dns = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?", fullmatch=True)
digits = st.text(string.digits, min_size=6, max_size=6)
nodes = st.binary(min_size=28, max_size=28).map(bytes.hex)
jobs = st.binary(min_size=4, max_size=4).map(bytes.hex)
versions = st.from_regex(r"[0-9A-Za-z][0-9A-Za-z.+-]{0,20}", fullmatch=True)
milliseconds = st.integers(0, 10**13 - 1)
sequences = st.integers(0, 10**7)


@st.composite
def sessions(draw: st.DrawFn) -> Session:
    kind = draw(st.sampled_from(list(ClusterKind)))
    owner = "" if kind is ClusterKind.RAYCLUSTER else draw(dns)
    cluster = Cluster(kind, draw(dns), draw(dns), owner)
    return Session(cluster, f"session_2026-11-30_15-30-13_{draw(digits)}")


def _passes(path: str) -> bool:
    try:
        return bool(ids.relative_path(path))
    except BadIdentifier:
        return False


paths = st.text(min_size=1, max_size=60).filter(_passes)
endpoints = st.from_regex(r"/api/[a-z0-9/]{0,20}(\?[a-z]{1,5}=[a-z0-9]{0,5})?", fullmatch=True).map(
    layout.canonical_endpoint
)
references: st.SearchStrategy[layout.Reference] = st.one_of(
    st.builds(layout.Marker, sessions()),
    st.builds(layout.FetchedEndpoint, sessions(), endpoints),
    st.builds(layout.SnapshotFile, sessions(), milliseconds, sequences),
    st.builds(layout.IndexFile, sessions(), versions, paths),
    st.builds(layout.NodeManifest, sessions(), nodes),
    st.builds(layout.LogFile, sessions(), nodes, paths),
    st.builds(layout.LogPack, sessions(), nodes, milliseconds, sequences),
    st.builds(
        layout.EventFile,
        sessions(),
        nodes,
        st.just("") | jobs,
        st.just("2026-11-30-15"),
        st.integers(0, 10**20 - 1),
        st.sampled_from(["", ".jsonl", ".jsonl.gz"]),
    ),
    st.builds(layout.FrontendFile, versions, paths),
)


@given(references)
def test_a_reference_comes_back_from_its_key(reference: layout.Reference) -> None:
    key = layout.key(reference)
    assert layout.parse(key) == reference
    assert ids.object_key(key) == key, "every store can hold it"


HOSTILE = ["..", ".", "", "%2e%2e", "a\0", "a\\b", "/", "a b", "\u0661", "A", NODE.upper(), "é", "x" * 300]
PARTS = [
    *("cluster-metadata", "cluster-history", "frontends", "raycluster", "rayjob", "rayservice", "default"),
    *("ray", "default_ray", "a_b_c", NAME, NODE, "logs", "log_packs", "node_events", "job_events", JOB),
    *("index", "v1", "snapshots", "fetched_endpoints", "manifest.json", "restful__api__v0", "2.60.0"),
    *("restful__api__jobs__?b=1&a=2", "1796052649501-000001.zip", "1796052649501-000001.jsonl.gz"),
    *(f"{NODE}-2026-11-30-15-17960526495010000", f"{NODE}-2026-11-30-15-017.jsonl", "raylet.out"),
    *HOSTILE,
]


@given(st.lists(st.sampled_from(PARTS), max_size=10).map("/".join))
def test_a_key_is_read_as_one_reference_or_refused(key: str) -> None:
    try:
        reference = layout.parse(key)
    except BadIdentifier:
        return
    again = layout.key(reference)
    if not isinstance(reference, layout.FetchedEndpoint):  # KubeRay's collector spells some in its own way
        assert again == key
    assert layout.parse(again) == reference


@given(st.text(max_size=80))
def test_any_text_is_a_key_or_refused(text: str) -> None:
    for key in (text, f"{BELOW}/{text}", f"frontends/{text}"):
        try:
            assert layout.key(layout.parse(key))
        except BadIdentifier:
            continue


@given(st.sampled_from(HOSTILE) | st.text(max_size=50), st.sampled_from(range(7)))
def test_a_hostile_name_never_leaves_its_session(name: str, place: int) -> None:
    prefix = layout.session_prefix(PLAIN)
    reference: layout.Reference = [
        layout.LogFile(PLAIN, NODE, name),
        layout.LogFile(PLAIN, name, "raylet.out"),
        layout.EventFile(PLAIN, NODE, name, "2026-11-30-15", 1),
        layout.EventFile(PLAIN, NODE, JOB, name, 1),
        layout.EventFile(PLAIN, NODE, JOB, "2026-11-30-15", 1, name),
        layout.FetchedEndpoint(PLAIN, name),
        layout.IndexFile(PLAIN, "v1", name),
    ][place]
    try:
        key = layout.key(reference)
    except BadIdentifier:
        return
    assert key.startswith(prefix)
    assert not {"", ".", ".."} & set(key.split("/"))


def test_a_frontend_stays_below_its_version() -> None:
    for version, path in (("..", "x"), ("2.60.0/..", "x"), ("2.60.0", "../x"), ("", "x"), ("2.60.0", "")):
        with pytest.raises(BadIdentifier):
            layout.key(layout.FrontendFile(version, path))


@pytest.mark.parametrize(
    ("reference", "key"),
    [
        (layout.Marker(PLAIN), f"cluster-metadata/raycluster/default_ray/{NAME}"),
        (
            layout.Marker(Session(Cluster(ClusterKind.RAYJOB, "ns", "c", "own"), NAME)),
            f"cluster-metadata/rayjob/ns_own_c/{NAME}",
        ),
        (
            layout.EventFile(PLAIN, NODE, JOB, "2026-11-30-15", 17),
            f"{BELOW}/{NODE}/job_events/{JOB}/{NODE}-2026-11-30-15-17.jsonl.gz",
        ),
        (
            layout.FetchedEndpoint(PLAIN, "/api/v0/placement_groups?detail=1&limit=10000"),
            f"{BELOW}/fetched_endpoints/restful__api__v0__placement_groups?detail=1&limit=10000",
        ),
        (
            layout.LogPack(PLAIN, NODE, 1796052649501, 7),
            f"{BELOW}/{NODE}/log_packs/1796052649501-000007.zip",
        ),
    ],
)
def test_keys_are_spelt_as_the_documentation_says(reference: layout.Reference, key: str) -> None:
    assert layout.key(reference) == key


def test_two_clusters_of_one_name_have_different_keys() -> None:
    clusters = [
        Cluster(ClusterKind.RAYCLUSTER, "one", "ray"),
        Cluster(ClusterKind.RAYCLUSTER, "two", "ray"),
        Cluster(ClusterKind.RAYJOB, "one", "ray", "job"),
        Cluster(ClusterKind.RAYSERVICE, "one", "ray", "job"),
    ]
    markers = {layout.key(layout.Marker(Session(cluster, NAME))) for cluster in clusters}
    prefixes = {layout.session_prefix(Session(cluster, NAME)) for cluster in clusters}
    assert len(markers) == len(prefixes) == len(clusters)


def test_kuberays_spelling_of_an_endpoint_is_read_as_ours() -> None:
    folder = f"{layout.session_prefix(PLAIN)}fetched_endpoints/"
    read = layout.parse(f"{folder}restful__api__serve__applications__?b=2&a=1&nocache=1")
    assert read == layout.FetchedEndpoint(PLAIN, "/api/serve/applications?a=1&b=2")


def test_names_of_packs_sort_by_time_and_then_by_number() -> None:
    made = [layout.LogPack(PLAIN, NODE, ms, n) for ms in (0, 999, 1796052649501) for n in (0, 5, 10, 999_999)]
    assert sorted(made, key=layout.key) == made


def test_a_log_path_may_be_as_long_as_a_key_allows() -> None:
    path = "/".join(["x" * 200] * 3)
    assert layout.parse(layout.key(layout.LogFile(PLAIN, NODE, path))) == layout.LogFile(PLAIN, NODE, path)


@pytest.mark.parametrize(
    "below",
    [
        "fetched_endpoints",
        "fetched_endpoints/restful__a/b",
        "snapshots/1/2",
        "index",
        "index/v1",
        NODE,
        f"{NODE}/logs",
        f"{NODE}/node_events/a/b",
        f"{NODE}/job_events/{JOB}",
        f"{NODE}/manifest.json/x",
        f"{NODE.upper()}/logs/raylet.out",
        f"{NODE}/node_events/{'cd' * 28}-2026-11-30-15-1.jsonl",
        f"{NODE}/log_packs/1796052649501-0000001.zip",
        f"{NODE}/log_packs/179605264950\u0661-000001.zip",
        f"{NODE}/node_events/{NODE}-2026-11-30-1\u0665-1.jsonl",
        "x" * 56 + "/logs/raylet.out",
    ],
)
def test_what_the_layout_does_not_know_is_refused(below: str) -> None:
    with pytest.raises(BadIdentifier, match="not a key of this layout"):
        layout.parse(layout.session_prefix(PLAIN) + below)


@given(st.text(alphabet="/ab?&=nocache19", max_size=30).map(lambda text: f"/{text}"))
def test_an_endpoint_has_one_spelling(endpoint: str) -> None:
    once = layout.canonical_endpoint(endpoint)
    assert layout.canonical_endpoint(once) == once
    assert "nocache=" not in once.partition("?")[2].split("&")


def test_parts_of_prefixes_are_checked() -> None:
    for prefix in (lambda: layout.node_prefix(PLAIN, "../x"), lambda: layout.frontend_prefix("../x")):
        with pytest.raises(BadIdentifier):
            prefix()
    assert layout.node_prefix(PLAIN, NODE).startswith(layout.session_prefix(PLAIN))
    assert ids.hex_id(IdKind.NODE, NODE) == NODE
