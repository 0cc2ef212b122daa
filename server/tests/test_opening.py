"""What is seen of a session while it is opened, when that fails, and when its index breaks."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from litestar.testing import TestClient

from rayhist.ids import Cluster, ClusterKind
from rayhist.memory import MemoryStore
from rayhist_server import failures
from rayhist_server.hosts import LocalNames
from rayhist_testkit import generator
from rayhist_testkit.faults import FlakyStore, WrappedStore

from .conftest import MakeApp

SMALL = generator.Shape(tasks=20, jobs=1, nodes=1, workers=2)
HTML = {"accept": "text/html"}
FRONTEND = b"<!doctype html><title>Ray Dashboard</title>"


class GatedStore(WrappedStore):
    """Holds back the event files until the gate is opened."""

    open = False

    async def before(self, operation: str, key: str) -> None:
        while operation == "get" and "_events/" in key and not self.open:
            await asyncio.sleep(0.01)


def lay_out(store: MemoryStore, name: str = "c", tasks: int = 20) -> str:
    cluster = Cluster(ClusterKind.RAYCLUSTER, "ns", name)
    shape = generator.Shape(tasks=tasks, jobs=1, nodes=1, workers=2)
    asyncio.run(store.put("frontends/2.60.0/index.html", FRONTEND))
    return f"/s/{asyncio.run(generator.lay_out(store, shape, cluster=cluster)).path}"


def test_a_browser_sees_progress_that_becomes_the_dashboard_by_itself(
    make_app: MakeApp, store: MemoryStore
) -> None:
    base = lay_out(store)
    gated = GatedStore(store)
    with TestClient(make_app(gated)) as client:
        progress = client.get(base + "/", headers=HTML)
        gated.open = True
        client.get(base + "/timezone")
        page = client.get(base + "/", headers=HTML)
    assert progress.status_code == 202
    assert '<meta http-equiv="refresh"' in progress.text
    assert f"Opening {base.removeprefix('/s/')}" in progress.text
    assert 'href="../../../../../assets/rayhist.css"' in progress.text
    assert page.content == FRONTEND


def test_a_tool_is_told_to_come_back(
    make_app: MakeApp, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rayhist_server.session_scope.WAIT_S", 0.05)
    base = lay_out(store)
    with TestClient(make_app(GatedStore(store))) as client:
        for path in ("/api/jobs/", "/api/v0/tasks"):
            answer = client.get(base + path)
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            assert "is being replayed" in answer.text


def test_a_failure_is_a_page_with_cause_and_remedy_and_the_next_request_tries_again(
    make_app: MakeApp, store: MemoryStore
) -> None:
    base = lay_out(store)
    flaky = FlakyStore(store, every=1)
    with TestClient(make_app(flaky)) as client:
        page = client.get(base + "/", headers=HTML)
        answer = client.get(base + "/api/v0/tasks")
        flaky.every = 0
        again = client.get(base + "/api/v0/tasks")
    assert (page.status_code, answer.status_code, again.status_code) == (503, 503, 200)
    assert "the store does not answer" in page.text
    assert "the store does not answer" in answer.json()["msg"]


@pytest.mark.parametrize("size", [0, 5000])
def test_an_index_that_breaks_while_it_serves_is_built_anew(
    make_app: MakeApp, store: MemoryStore, tmp_path: Path, size: int
) -> None:
    base = lay_out(store, tasks=500)
    path = base + "/api/v0/tasks?limit=10000"
    with TestClient(make_app(store)) as client:
        client.get(base + "/timezone")
        [index] = (tmp_path / "cache" / "indexes").glob("*.index")
        with index.open("r+b") as file:
            file.truncate(size)
        broken = client.get(path)
        healed = client.get(path)
    assert broken.status_code == 503
    assert "damaged" in broken.json()["msg"]
    assert healed.status_code == 200
    assert len(list((tmp_path / "cache" / "indexes").glob("*.bad"))) == 1


def test_an_index_that_was_emptied_is_damaged_to_a_connection_opened_afterwards() -> None:
    """It sees a fine database without tables."""
    empty = sqlite3.connect(":memory:")
    with pytest.raises(sqlite3.OperationalError) as no_table:
        empty.execute("SELECT 1 FROM tasks")
    with pytest.raises(sqlite3.OperationalError) as mistake:
        empty.execute("SELECT nonsense")
    empty.close()

    assert failures.is_damage(no_table.value)
    assert not failures.is_damage(mistake.value)


def test_two_sessions_never_mix(make_app: MakeApp, store: MemoryStore) -> None:
    bases = [lay_out(store, "a", 20), lay_out(store, "b", 60)]
    with TestClient(make_app(store)) as client:
        first, second = (client.get(base + "/api/v0/tasks?limit=10000") for base in bases)
        crossed = client.get(
            bases[1] + "/api/v0/tasks?limit=10000", headers={"if-none-match": first.headers["etag"]}
        )
    assert first.json()["data"]["result"]["total"] < second.json()["data"]["result"]["total"]
    assert crossed.content == second.content


@pytest.mark.parametrize(
    ("host", "status"),
    [
        (b"127.0.0.1:8090", 200),
        (b"localhost", 200),
        (b"[::1]:8090", 200),
        (b"ray.example.test", 200),
        (b"evil.test", 421),
        (b"127.0.0.1.evil.test", 421),
        (b"[", 421),
        (b"", 421),
    ],
)
def test_a_local_server_answers_to_local_names_only(host: bytes, status: int) -> None:
    sent: list[Any] = []

    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message: Any) -> None:
        sent.append(message)

    scope: Any = {"type": "http", "headers": [(b"host", host)]}
    asyncio.run(LocalNames(app, "https://ray.example.test/x")(scope, None, send))  # type: ignore[arg-type]
    assert sent[0]["status"] == status
