"""The dashboard's frontend: of the session's Ray version, below the session's own address."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from litestar.testing import TestClient

from rayhist import layout
from rayhist.ids import Session
from rayhist.manifest import SessionMarker
from rayhist.memory import MemoryStore
from rayhist_server.frontend import nearest
from rayhist_testkit import generator

from .conftest import Client, MakeApp, application

FILES = {
    "index.html": b"<!doctype html><title>Ray Dashboard</title>",
    "favicon.ico": b"icon",
    "static/js/main.1a2b.js": b"console.log(1);" * 200,
}


def add_frontend(store: MemoryStore, version: str, extra: bytes = b"") -> None:
    for path, content in FILES.items():
        asyncio.run(store.put(layout.key(layout.FrontendFile(version, path)), content + extra))


SMALL = generator.Shape(tasks=3, jobs=1, nodes=1, workers=1)


def lay_out(store: MemoryStore) -> Session:
    """A small session that ran with Ray 2.60.0."""
    session = asyncio.run(generator.lay_out(store, SMALL))
    marker = SessionMarker(ray_version="2.60.0", start_ms=1, last_seen_ms=2, end_ms=2)
    asyncio.run(store.put(layout.key(layout.Marker(session)), msgspec.json.encode(marker)))
    return session


@pytest.fixture
def session(store: MemoryStore) -> Session:
    return lay_out(store)


class Served(msgspec.Struct, frozen=True):
    client: Any
    session: Session
    base: str


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    store = MemoryStore("frontends")
    session = lay_out(store)
    add_frontend(store, "2.60.0")
    with TestClient(application(tmp_path_factory.mktemp("server"), store)) as client:
        yield Served(client, session, f"/s/{session.path}")


def settled(client: Client, path: str) -> None:
    """Have the session opened, however long that takes."""
    assert client.get(path + "/timezone").status_code == 200


def test_the_page_and_its_files_are_served_below_the_session(served: Served) -> None:
    base, client = served.base, served.client
    settled(client, base)
    page = client.get(base + "/")
    assert (page.status_code, page.content) == (200, FILES["index.html"])
    assert page.headers["cache-control"] == "no-store"
    script = client.get(base + "/static/js/main.1a2b.js")
    assert script.content == FILES["static/js/main.1a2b.js"]
    assert script.headers["content-type"] == "application/javascript"
    assert "max-age=31536000" in script.headers["cache-control"]
    assert script.headers["content-encoding"] == "gzip"
    assert client.get(base + "/favicon.ico").headers["content-type"] == "image/vnd.microsoft.icon"


def test_without_the_last_slash_the_browser_is_sent_to_it(served: Served) -> None:
    answer = served.client.get(f"{served.base}?theme=dark", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (307, f"{served.session.name}/")


def test_latest_leads_to_the_newest_session_so_that_a_link_keeps_its_meaning(
    served: Served,
) -> None:
    session, client = served.session, served.client
    latest = f"/s/{session.cluster.path}/latest"
    for path, location in ((f"{latest}/", f"../{session.name}/"), (latest, f"{session.name}/")):
        answer = client.get(path, follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (307, location)
    assert client.get(f"{latest}/api/version").json()["session_name"] == session.name


def test_a_kept_file_is_not_fetched_again_and_a_damaged_copy_is(
    make_app: MakeApp, store: MemoryStore, session: Session, tmp_path: Path
) -> None:
    add_frontend(store, "2.60.0")
    path = f"/s/{session.path}/static/js/main.1a2b.js"
    with TestClient(make_app(store)) as client:
        client.get(path)
        asyncio.run(store.delete(layout.key(layout.FrontendFile("2.60.0", "static/js/main.1a2b.js"))))
        assert client.get(path).content == FILES["static/js/main.1a2b.js"]
        [copy] = (one for one in (tmp_path / "cache" / "frontends").rglob("*") if one.is_file())
        copy.write_bytes(copy.read_bytes()[:-5])
        assert client.get(path).status_code == 404


def test_the_version_next_to_the_session_s_serves_if_its_own_is_missing(
    make_app: MakeApp, store: MemoryStore, session: Session
) -> None:
    add_frontend(store, "2.53.0", b"old")
    add_frontend(store, "2.59.0", b"near")
    with TestClient(make_app(store)) as client:
        assert client.get(f"/s/{session.path}/favicon.ico").content == b"iconnear"


def test_without_any_frontend_the_page_says_how_to_add_one(
    make_app: MakeApp, store: MemoryStore, session: Session
) -> None:
    with TestClient(make_app(store)) as client:
        settled(client, f"/s/{session.path}")
        page = client.get(f"/s/{session.path}/", headers={"accept": "text/html"})
    assert page.status_code == 503
    assert "rayhist frontend add" in page.text


@pytest.mark.parametrize(
    "path",
    [
        "static/..%2f..%2f..%2findex.html",
        "static/%2e%2e/index.html",
        "static/js/%00",
        "static/js/" + "x" * 2000,
        "static//etc/passwd",
        "static/js/nosuch.js",
        "static/",
    ],
)
def test_nothing_but_the_frontend_s_static_files_can_be_reached(served: Served, path: str) -> None:
    answer = served.client.get(f"{served.base}/{path}")
    assert answer.status_code in {400, 404}
    assert FILES["index.html"] not in answer.content


VERSION = st.tuples(*[st.integers(0, 300)] * 3).map(lambda parts: ".".join(map(str, parts)))


@given(VERSION, st.lists(VERSION, min_size=1))
def test_the_nearest_version_is_one_that_is_there_and_the_very_one_if_it_is(
    wanted: str, present: list[str]
) -> None:
    assert nearest(wanted, present) in present
    assert nearest(wanted, [*present, wanted]) == wanted


@pytest.mark.parametrize(
    ("wanted", "present", "expected"),
    [
        ("2.56.0", ["2.53.0", "2.60.0"], "2.53.0"),
        ("2.56.1", ["2.56.0", "2.57.1"], "2.56.0"),
        ("2.56.0", ["2.55.0", "2.57.0"], "2.57.0"),
        ("", ["2.9.0", "2.60.0", "2.53.0"], "2.60.0"),
        ("nightly", ["2.9.0", "2.60.0"], "2.60.0"),
        ("3.0.0.dev0", ["2.9.0", "2.60.0"], "2.9.0"),
    ],
)
def test_the_nearest_version(wanted: str, present: list[str], expected: str) -> None:
    assert nearest(wanted, present) == expected
