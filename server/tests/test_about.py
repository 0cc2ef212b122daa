"""A session's own page: all that it had, and what is missing."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from litestar.testing import TestClient

from rayhist import layout
from rayhist.ids import Cluster, ClusterKind, Session
from rayhist.manifest import Ending, NodeManifest, SessionMarker
from rayhist.memory import MemoryStore
from rayhist_server.sessions import LAST_KNOWN, parse_address
from rayhist_testkit import recordings

from .conftest import MakeApp, application

OWNED = Cluster(ClusterKind.RAYJOB, "team-b", "trainer", "nightly")


class Shown(msgspec.Struct, frozen=True):
    """The whole recording behind a server, and its page."""

    client: Any
    session: Session
    ids: dict[str, str]
    text: str

    @property
    def base(self) -> str:
        return f"/s/{self.session.path}"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    store = MemoryStore("about")
    recording = recordings.Recording(recordings.RAY_2_60)
    session = asyncio.run(recordings.lay_out(store, recordings.RAY_2_60, cluster=OWNED))
    for number, node in enumerate(nodes_of(recording)):
        body = b"started\n" * (number + 1)
        asyncio.run(store.put(layout.key(layout.LogFile(session, node, "raylet.out")), body))
    with TestClient(application(tmp_path_factory.mktemp("server"), store)) as client:
        text = page(client, f"/s/{session.path}/@about", 200)
        yield Shown(client, session, recording.ids, text)


def nodes_of(recording: recordings.Recording) -> list[str]:
    answer = recording.answer("/nodes?view=summary", recordings.AFTER_NODE_DEATH).value
    return [node["raylet"]["nodeId"] for node in answer["data"]["summary"]]


def page(client: Any, path: str, status: int) -> str:
    """The page, once the session is open."""
    answer = client.get(path, headers={"accept": "text/html"})
    while answer.status_code == 202:
        client.get(path.replace("@about", "timezone"))
        answer = client.get(path, headers={"accept": "text/html"})
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    return str(answer.text)


def section(text: str, name: str) -> str:
    found = re.search(rf'<(?:section|dl) id="{name}">(.*?)</(?:section|dl)>', text, re.DOTALL)
    assert found, name
    return found[1]


def test_every_node_has_a_row_with_links_to_its_page_and_its_logs(shown: Shown) -> None:
    summary = shown.client.get(f"{shown.base}/nodes?view=summary").json()["data"]["summary"]
    rows = section(shown.text, "nodes").split("<tr>")[2:]
    assert len(rows) == len(summary) == 4
    for node in summary:
        [row] = [row for row in rows if f'href="./#/cluster/nodes/{node["raylet"]["nodeId"]}"' in row]
        assert f'href="./#/logs/?nodeId={node["raylet"]["nodeId"]}"' in row
        assert f"<td>{node['ip']}</td>" in row
        assert f"<td>{node['hostname']}</td>" in row


def test_a_node_that_died_before_the_end_is_told_from_those_that_stayed(shown: Shown) -> None:
    rows = section(shown.text, "nodes").split("<tr>")[2:]
    died = {node for node, state in states(shown).items() if state == "DEAD"}
    assert 0 < len(died) < len(rows)
    for row in rows:
        [node] = re.findall(r'/logs/\?nodeId=([0-9a-f]{56})"', row)
        assert f'class="state {"dead" if node in died else "until the end"}"' in row


def states(shown: Shown) -> dict[str, str]:
    summary = shown.client.get(f"{shown.base}/nodes?view=summary").json()["data"]["summary"]
    return {node["raylet"]["nodeId"]: node["raylet"]["state"] for node in summary}


def test_the_facts_and_the_jobs_of_the_session_are_shown(shown: Shown) -> None:
    facts = section(shown.text, "facts")
    assert "trainer in team-b" in facts
    assert "rayjob nightly" in facts
    assert "Ray 2.60.0, Python 3." in facts
    assert "The cluster was shut down." in facts
    jobs = shown.client.get(f"{shown.base}/api/jobs/").json()
    for job in jobs:
        assert f'href="./#/jobs/{job["job_id"] or job["submission_id"]}"' in section(shown.text, "jobs")
        assert html.escape(job["entrypoint"]) in section(shown.text, "jobs")
        assert job["status"] in section(shown.text, "jobs")


def test_the_page_says_what_the_json_says_of_completeness(shown: Shown) -> None:
    known = shown.client.get(f"{shown.base}/api/v1/session").json()["completeness"]
    text = html.unescape(shown.text)
    assert known["verdict"] in text
    gaps = [*known["gaps"], *(gap for node in known["nodes"] for gap in node["gaps"])]
    assert gaps
    assert all(gap in text for gap in gaps)
    assert known["nodes"][0]["role"] == "head"
    assert known["nodes"][0]["events"]["DRIVER_JOB_DEFINITION_EVENT"]["count"] > 0
    assert known["nodes"][0]["logs"]["files"] == 1


def test_both_views_lead_to_each_other(shown: Shown) -> None:
    name = shown.session.name
    assert f'href="../{name}{LAST_KNOWN}/"' in shown.text
    other = page(shown.client, f"{shown.base}{LAST_KNOWN}/@about", 200)
    assert f'href="../{name}/"' in other


def test_the_list_links_to_the_page_of_each_session(shown: Shown) -> None:
    listed = shown.client.get("/").text
    assert f'href="./s/{shown.session.path}/@about"' in listed


def test_a_session_whose_replay_fails_has_a_page_that_says_why(make_app: MakeApp, store: MemoryStore) -> None:
    session = Session(OWNED, "session_2027-01-01_00-00-00_000000_1")
    marker = SessionMarker(ray_version="2.60.0", jobs=[{"id": "01000000", "status": "FAILED"}])  # type: ignore[list-item]
    broken = layout.EventFile(session, "a" * 56, "", "2027-01-01-00", 1)
    asyncio.run(store.put(layout.key(layout.Marker(session)), msgspec.json.encode(marker)))
    asyncio.run(store.put(layout.key(broken), b"\x1f\x8bbroken"))
    with TestClient(make_app(store)) as client:
        client.get(f"/s/{session.path}/timezone")
        text = html.unescape(page(client, f"/s/{session.path}/@about", 500))
    assert layout.key(broken) in section(text, "problem")
    assert "Remedy" in section(text, "problem")
    assert "Ray 2.60.0" in text
    assert "01000000" in section(text, "jobs")


def test_a_session_that_does_not_exist_has_no_page(shown: Shown) -> None:
    name = "session_2000-01-01_00-00-00_000000_1"
    assert page(shown.client, f"/s/{OWNED.path}/{name}/@about", 404)


def test_hostile_names_are_escaped(make_app: MakeApp, store: MemoryStore) -> None:
    session = Session(OWNED, "session_2027-01-01_00-00-00_000000_1")
    evil = "<script>alert(1)</script>"
    marker = SessionMarker(ray_version=evil, labels={evil: evil}, end_ms=1, ending=Ending.CLEAN)
    manifest = NodeManifest(node_id="a" * 56, ip=evil, hostname=evil, warnings=[evil])
    asyncio.run(store.put(layout.key(layout.Marker(session)), msgspec.json.encode(marker)))
    reference = layout.NodeManifest(session, "a" * 56)
    asyncio.run(store.put(layout.key(reference), msgspec.json.encode(manifest)))
    with TestClient(make_app(store)) as client:
        text = page(client, f"/s/{session.path}/@about", 200)
    assert "<script" not in text
    assert text.count(html.escape(evil)) >= 5


def test_one_session_at_the_root_has_the_page_too(
    make_app: MakeApp, store: MemoryStore, shown: Shown
) -> None:
    asyncio.run(store.put(layout.key(layout.Marker(shown.session)), b""))
    with TestClient(make_app(store, only=parse_address(shown.session.path))) as client:
        text = page(client, "/@about", 200)
    assert "As last known" not in text
