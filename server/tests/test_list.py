"""The list of sessions, as a page and as JSON."""

from __future__ import annotations

import asyncio
import html
import re

import msgspec
import pytest
from litestar.testing import TestClient

from rayhist import layout
from rayhist.ids import Cluster, ClusterKind, Session
from rayhist.manifest import JobSummary, SessionMarker
from rayhist.memory import MemoryStore
from rayhist_testkit.faults import FlakyStore

from .conftest import MakeApp

DAY_MS = 86_400_000
START_MS = 1_800_000_000_000


def put(store: MemoryStore, cluster: Cluster, number: int, **facts: object) -> Session:
    session = Session(cluster, f"session_2027-01-{number:02d}_00-00-00_000000_1")
    given = {"start_ms": START_MS + number * DAY_MS} | facts
    marker = msgspec.convert(given, SessionMarker)
    asyncio.run(store.put(layout.key(layout.Marker(session)), msgspec.json.encode(marker)))
    return session


PLAIN = Cluster(ClusterKind.RAYCLUSTER, "team-a", "trainer")
OWNED = Cluster(ClusterKind.RAYJOB, "team-b", "trainer", "nightly")


def test_sessions_are_listed_newest_first_with_all_that_is_known(
    make_app: MakeApp, store: MemoryStore
) -> None:
    put(store, PLAIN, 1, end_ms=START_MS + 2 * DAY_MS, ray_version="2.60.0")
    put(store, OWNED, 2, jobs=[{"id": "raysubmit_1", "status": "FAILED", "entrypoint": "python x.py"}])
    with TestClient(make_app(store)) as client:
        listing = client.get("/api/v1/sessions").json()
    newer, older = listing["sessions"]
    assert (listing["total"], listing["matched"]) == (2, 2)
    assert newer["path"] == "/s/rayjob/team-b/nightly/trainer/session_2027-01-02_00-00-00_000000_1/"
    assert newer["jobs"] == [{"id": "raysubmit_1", "status": "FAILED", "entrypoint": "python x.py"}]
    assert (newer["kind"], newer["owner"], newer["state"]) == ("rayjob", "nightly", "unknown")
    assert (older["namespace"], older["cluster"], older["owner"]) == ("team-a", "trainer", "")
    assert (older["state"], older["end_ms"], older["ray_version"]) == (
        "ended",
        START_MS + 2 * DAY_MS,
        "2.60.0",
    )


def test_two_clusters_of_one_name_in_two_namespaces_are_two_rows(
    make_app: MakeApp, store: MemoryStore
) -> None:
    for namespace in ("one", "two"):
        put(store, Cluster(ClusterKind.RAYCLUSTER, namespace, "same"), 1)
    with TestClient(make_app(store)) as client:
        listing = client.get("/api/v1/sessions").json()
        found = client.get("/api/v1/sessions", params={"q": "one"}).json()
    assert len({row["path"] for row in listing["sessions"]}) == 2
    assert [row["namespace"] for row in found["sessions"]] == ["one"]


def test_every_word_of_the_filter_must_occur(make_app: MakeApp, store: MemoryStore) -> None:
    put(store, PLAIN, 1)
    put(store, OWNED, 2)
    with TestClient(make_app(store)) as client:
        for words, count in (("trainer", 2), ("TRAINER team-a", 1), ("nightly 01-02", 1), ("nobody", 0)):
            assert client.get("/api/v1/sessions", params={"q": words}).json()["matched"] == count


def test_the_list_has_pages(make_app: MakeApp, store: MemoryStore) -> None:
    for number in range(1, 8):
        put(store, PLAIN, number)
    with TestClient(make_app(store)) as client:
        names = []
        for offset in (0, 3, 6, 9):
            page = client.get("/api/v1/sessions", params={"limit": 3, "offset": offset}).json()
            names += [row["session"][8:18] for row in page["sessions"]]
        text = client.get("/", params={"limit": 3, "offset": 3}).text
    assert names == [f"2027-01-{number:02d}" for number in range(7, 0, -1)]
    links = [html.unescape(link) for link in re.findall(r'href="\./\?([^"]*)"', text)]
    assert links == ["offset=0&limit=3", "offset=6&limit=3"]


def test_the_page_works_without_scripts_and_links_each_session(make_app: MakeApp, store: MemoryStore) -> None:
    put(store, PLAIN, 1, jobs=[JobSummary("a", "SUCCEEDED"), JobSummary("b", "SUCCEEDED"), JobSummary("c")])
    with TestClient(make_app(store)) as client:
        page = client.get("/", params={"q": "trainer"})
    assert 'href="./s/raycluster/team-a/trainer/session_2027-01-01_00-00-00_000000_1/"' in page.text
    assert "2 SUCCEEDED, 1 unknown" in page.text
    assert 'value="trainer"' in page.text
    assert re.search(r'<form id="filter" method="get"', page.text)


def test_whatever_an_archive_says_is_escaped(make_app: MakeApp, store: MemoryStore) -> None:
    attack = '"><script>alert(1)</script>'
    put(store, PLAIN, 1, jobs=[JobSummary(attack, attack, attack)], ray_version=attack)
    with TestClient(make_app(store)) as client:
        for query in ("", attack):
            page = client.get("/", params={"q": query})
            assert "<script>alert" not in page.text
            assert "script-src 'self'" in page.headers["content-security-policy"]
            assert page.headers["x-content-type-options"] == "nosniff"


def test_an_empty_archive_says_what_to_do(make_app: MakeApp, store: MemoryStore) -> None:
    with TestClient(make_app(store)) as client:
        assert "rayhist collect" in client.get("/").text
        assert client.get("/api/v1/sessions").json()["sessions"] == []


def test_an_outage_is_no_empty_list(make_app: MakeApp, store: MemoryStore) -> None:
    put(store, PLAIN, 1)
    flaky = FlakyStore(store, every=1)
    with TestClient(make_app(flaky)) as client:
        answer = client.get("/api/v1/sessions")
        page = client.get("/", headers={"accept": "text/html"})
        flaky.every = 0
        again = client.get("/api/v1/sessions")
    assert answer.status_code == page.status_code == 503
    assert "does not answer" in answer.json()["error"]
    assert "does not answer" in page.text
    assert again.json()["total"] == 1


def test_the_archive_is_listed_once_per_refresh_interval(make_app: MakeApp, store: MemoryStore) -> None:
    put(store, PLAIN, 1)
    counting = FlakyStore(store, every=0)
    with TestClient(make_app(counting)) as client:
        client.get("/api/v1/sessions")
        calls = counting.calls
        for _ in range(5):
            client.get("/api/v1/sessions")
    assert counting.calls == calls


@pytest.mark.parametrize(
    "query", ["limit=x", "limit=0", "limit=1001", "offset=-1", "offset=1e9", "limit=" + "9" * 5000]
)
def test_a_bad_parameter_is_named(make_app: MakeApp, store: MemoryStore, query: str) -> None:
    with TestClient(make_app(store)) as client:
        for path in ("/api/v1/sessions", "/"):
            answer = client.get(f"{path}?{query}")
            assert answer.status_code == 400
            assert len(answer.text) < 1000
