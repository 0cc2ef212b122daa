"""A session that ended can be asked for as it was last seen."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from litestar.testing import TestClient

from rayhist.errors import ConfigError
from rayhist.ids import Session
from rayhist.memory import MemoryStore
from rayhist_server.sessions import LAST_KNOWN, parse_address
from rayhist_testkit import recordings


@pytest.fixture
def session(store: MemoryStore) -> Session:
    """The recorded cluster, lost long ago while much was going on."""
    return asyncio.run(recordings.lay_out(store, recordings.RAY_2_60, moment=recordings.LIVE))


def states(client: Any, session: Session, view: str = "") -> dict[str, set[str]]:
    base = f"/s/{session.path}{view}"
    tasks = client.get(f"{base}/api/v0/tasks?limit=10000").json()["data"]["result"]["result"]
    actors = client.get(f"{base}/logical/actors").json()["data"]["actors"].values()
    return {
        "tasks": {task["state"] for task in tasks},
        "actors": {actor["state"] for actor in actors},
        "jobs": {job["status"] for job in client.get(f"{base}/api/jobs/").json()},
    }


def test_nothing_goes_on_in_a_session_that_ended_unless_it_is_asked_for_as_last_known(
    make_app: Any, store: MemoryStore, session: Session
) -> None:
    with TestClient(make_app(store)) as client:
        ended, last_known = states(client, session), states(client, session, LAST_KNOWN)
        end = client.get(f"/s/{session.path}{LAST_KNOWN}/api/v1/session").json()["end"]
    assert ended == {
        "tasks": {"FINISHED", "FAILED"},
        "actors": {"DEAD"},
        "jobs": {"FAILED", "STOPPED", "SUCCEEDED"},
    }
    assert {"RUNNING", "PENDING_ARGS_AVAIL"} <= last_known["tasks"]
    assert {"ALIVE", "PENDING_CREATION"} <= last_known["actors"]
    assert {"RUNNING", "PENDING"} <= last_known["jobs"]
    assert end["ended"] is True


def test_both_views_have_indexes_of_their_own(
    make_app: Any, store: MemoryStore, session: Session, tmp_path: Path
) -> None:
    with TestClient(make_app(store)) as client:
        tags = {client.get(f"/s/{session.path}{view}/api/jobs/").headers["etag"] for view in ("", LAST_KNOWN)}
    assert len(tags) == 2
    with TestClient(make_app(store)) as client:  # another server, the same cache
        assert states(client, session) != states(client, session, LAST_KNOWN)
    assert len(list((tmp_path / "cache" / "indexes").rglob("*.index"))) == 2


def test_the_page_stays_in_its_view(make_app: Any, store: MemoryStore, session: Session) -> None:
    with TestClient(make_app(store)) as client:
        path = f"/s/{session.cluster.path}/latest{LAST_KNOWN}/"
        answer = client.get(path, follow_redirects=False)
    assert answer.headers["location"] == f"../{session.name}{LAST_KNOWN}/"


def test_one_session_can_stand_at_the_root_as_last_known(
    make_app: Any, store: MemoryStore, session: Session
) -> None:
    only = parse_address(f"{session.path}{LAST_KNOWN}")
    with TestClient(make_app(store, only=only)) as client:
        assert "RUNNING" in {job["status"] for job in client.get("/api/jobs/").json()}


def test_there_is_no_other_view(make_app: Any, store: MemoryStore, session: Session) -> None:
    with TestClient(make_app(store)) as client:
        assert client.get(f"/s/{session.path}@first-known/api/jobs/").status_code == 400
    with pytest.raises(ConfigError):
        parse_address("raycluster/ns/c/d/session_x")
