"""What only the dashboard says is asked for while it lives, and never mixed up or overwritten by less."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from rayhist.clock import Clock, SystemClock
from rayhist.config import Secret
from rayhist.ids import Cluster
from rayhist.layout import canonical_endpoint
from rayhist.source import SourceContext
from rayhist_collector.dashboard import Dashboard
from rayhist_collector.sources.dashboard import Options
from rayhist_testkit.contracts.source import Log
from rayhist_testkit.intake import RecordingIntake

SESSION = "session_2026-11-30_15-25-10_490256_10672"
NEXT = "session_2026-11-30_16-00-00_000001_20"
HEAD, WORKER = "aa" * 28, "bb" * 28


class FakeDashboard:
    """A dashboard over HTTP: JSON bodies by path, a token if one is set, and a note of every request."""

    def __init__(self) -> None:
        self.token = ""
        self.session = SESSION
        self.dying: set[str] = set()
        self.states = {HEAD: "ALIVE", WORKER: "ALIVE"}
        self.bodies: dict[str, Any] = {
            "/timezone": {"offset": "+00:00", "value": "Europe/London"},
            "/api/jobs/": [{"job_id": "01000000", "type": "DRIVER"}, {"job_id": None, "submission_id": "s"}],
            "/logical/actors": {"data": {"actors": {}}},
            "/api/serve/applications/": {"applications": {}},
        }
        self.asked: list[tuple[str, str]] = []
        self.agents: set[str] = set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                status, body = outer.answer(self.path, self.headers.get("Authorization", ""))
                outer.agents.add(self.headers["User-Agent"])
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header(
                    "Content-Type", "text/plain" if isinstance(body, bytes) else "application/json"
                )
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, target: str, authorization: str) -> tuple[int, Any]:
        self.asked.append((target, authorization))
        if self.token and authorization != f"Bearer {self.token}":
            return 401, b"Unauthorized: Missing authentication token"
        path = urlsplit(target).path
        if path == "/api/version":
            return 200, {"ray_version": "2.60.0", "session_name": self.session}
        if path == "/nodes":
            nodes = [{"raylet": {"nodeId": node, "state": state}} for node, state in self.states.items()]
            return 200, {"data": {"summary": nodes}}
        if path.startswith("/nodes/"):
            node = path.rpartition("/")[2]
            state = "DEAD" if node in self.dying else self.states.get(node, "DEAD")
            detail = {"raylet": {"nodeId": node, "state": state}, "cpu": 7 if state == "ALIVE" else None}
            return 200, {"data": {"detail": detail}}
        if path == "/api/grafana_health":
            return 500, {"result": False}
        return (200, self.bodies[path]) if path in self.bodies else (404, b"404: Not Found")

    def times(self) -> Counter[str]:
        return Counter(canonical_endpoint(target) for target, _ in self.asked)


@pytest.fixture
def dashboard() -> Iterator[FakeDashboard]:
    made = FakeDashboard()
    yield made
    made.close()


@pytest.fixture
def poller(
    dashboard: FakeDashboard, ray_folder: Any, cluster: Cluster, tmp_path: Path
) -> Callable[..., Dashboard]:
    def make(clock: Clock | None = None, **options: Any) -> Dashboard:
        context = SourceContext(
            cluster=cluster,
            role="head",
            temp_dir=ray_folder.root,
            state_dir=tmp_path,
            clock=clock or SystemClock(),
            log=Log(),
        )
        given = {"address": dashboard.address, "interval_s": 0.05, "record_frontend": False, **options}
        return Dashboard(context, Options(**given))

    return make


@pytest.fixture
def intake(tmp_path: Path) -> RecordingIntake:
    return RecordingIntake(tmp_path)


def _run(
    source: Dashboard, intake: RecordingIntake, until: Callable[[], bool], *, finish: bool = True
) -> None:
    async def body() -> None:
        task = asyncio.create_task(source.run(intake))
        try:
            await intake.until(until)
        finally:
            task.cancel()
            await asyncio.wait([task])
        if finish:
            await source.finish(intake)

    asyncio.run(body())


def _answers(intake: RecordingIntake, endpoint: str) -> list[Any]:
    return [
        json.loads(bytes(answer.body)) for _, answer in intake.recorded_answers if answer.endpoint == endpoint
    ]


def test_every_node_and_every_session_wide_endpoint_is_asked_for(
    dashboard: FakeDashboard, poller: Callable[..., Dashboard], intake: RecordingIntake
) -> None:
    _run(poller(), intake, lambda: bool(_answers(intake, f"/nodes/{WORKER}")))
    endpoints = {canonical_endpoint(answer.endpoint) for _, answer in intake.recorded_answers}
    assert {"/timezone", "/api/version", "/api/jobs", "/nodes?view=summary", "/logical/actors"} <= endpoints
    assert {f"/nodes/{HEAD}", f"/nodes/{WORKER}", "/api/serve/applications"} <= endpoints
    assert {session for session, _ in intake.recorded_answers} == {SESSION}


def test_what_ray_caches_is_asked_for_anew(
    dashboard: FakeDashboard, poller: Callable[..., Dashboard], intake: RecordingIntake
) -> None:
    """Its cache serves an expired answer once more: a node dead for a minute would look alive."""
    _run(poller(), intake, lambda: bool(_answers(intake, f"/nodes/{HEAD}")))
    for target, _ in dashboard.asked:
        parts = urlsplit(target)
        if parts.path.startswith(("/nodes", "/logical/actors")):
            assert parse_qs(parts.query).get("nocache") == ["1"], target


def test_what_does_not_change_is_asked_for_once(
    dashboard: FakeDashboard, poller: Callable[..., Dashboard], intake: RecordingIntake
) -> None:
    _run(poller(), intake, lambda: dashboard.times()["/api/jobs"] > 5)
    assert dashboard.times()["/timezone"] == 1
    assert dashboard.times()["/api/profiling_enabled"] == 1, "404 is an answer, too"


def test_a_dead_nodes_details_do_not_replace_those_of_its_life(
    dashboard: FakeDashboard, poller: Callable[..., Dashboard], intake: RecordingIntake
) -> None:
    source = poller()
    _run(source, intake, lambda: bool(_answers(intake, f"/nodes/{WORKER}")), finish=False)
    dashboard.states[WORKER] = "DEAD"
    asyncio.run(source.finish(intake))
    assert {body["data"]["detail"]["cpu"] for body in _answers(intake, f"/nodes/{WORKER}")} == {7}
    last = _answers(intake, "/nodes?view=summary")[-1]["data"]["summary"]
    assert [node["raylet"]["state"] for node in last] == ["ALIVE", "DEAD"]


def test_a_node_that_dies_between_two_questions_keeps_the_details_of_its_life(
    dashboard: FakeDashboard, poller: Callable[..., Dashboard], intake: RecordingIntake
) -> None:
    """The list still calls it alive when its details are those of a dead one."""
    source = poller()
    _run(source, intake, lambda: bool(_answers(intake, f"/nodes/{WORKER}")), finish=False)
    dashboard.dying.add(WORKER)
    before = dashboard.times()[f"/nodes/{WORKER}"]
    asyncio.run(source.finish(intake))
    assert dashboard.times()[f"/nodes/{WORKER}"] > before
    assert {body["data"]["detail"]["cpu"] for body in _answers(intake, f"/nodes/{WORKER}")} == {7}


def test_datasets_are_asked_for_only_where_ray_data_runs(
    dashboard: FakeDashboard, poller: Callable[..., Dashboard], intake: RecordingIntake
) -> None:
    """The question alone makes Ray start an actor of 200 MB."""
    _run(poller(), intake, lambda: dashboard.times()["/api/jobs"] > 3)
    assert not any("datasets" in target for target, _ in dashboard.asked)
    dashboard.bodies["/logical/actors"] = {"data": {"actors": {"x": {"actorClass": "_StatsActor"}}}}
    dashboard.bodies["/api/data/datasets/01000000"] = {"datasets": [{"dataset": "d"}]}
    _run(poller(), intake, lambda: bool(_answers(intake, "/api/data/datasets/01000000")))


def test_the_last_sweep_asks_for_what_is_new(
    dashboard: FakeDashboard, poller: Callable[..., Dashboard], intake: RecordingIntake
) -> None:
    source = poller()
    _run(source, intake, lambda: bool(_answers(intake, "/api/jobs/")), finish=False)
    dashboard.states["cc" * 28] = "ALIVE"
    asyncio.run(source.finish(intake))
    assert _answers(intake, f"/nodes/{'cc' * 28}")


def test_a_dashboard_that_is_not_there_yet_is_waited_for(
    dashboard: FakeDashboard, poller: Callable[..., Dashboard], intake: RecordingIntake, ray_folder: Any
) -> None:
    """Without a configured address, it is learnt from the dashboard's own log."""
    source = poller(address="")

    async def body() -> None:
        task = asyncio.create_task(source.run(intake))
        await asyncio.wait([task], timeout=0.3)
        logs = ray_folder.session(SESSION)
        host = dashboard.address.removeprefix("http://")
        (logs / "dashboard.log").write_text(f"INFO -- Dashboard head http address: {host}\n")
        await intake.until(lambda: bool(_answers(intake, "/api/jobs/")))
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(body())


def test_another_clusters_dashboard_is_not_recorded(
    dashboard: FakeDashboard, poller: Callable[..., Dashboard], intake: RecordingIntake, ray_folder: Any
) -> None:
    ray_folder.session(NEXT)
    _run(poller(), intake, lambda: dashboard.times()["/api/version"] >= 1)
    assert intake.recorded_answers == []
    assert set(dashboard.times()) == {"/api/version"}


def test_a_restarted_heads_answers_go_under_its_new_session(
    dashboard: FakeDashboard, poller: Callable[..., Dashboard], intake: RecordingIntake
) -> None:
    source = poller()
    _run(source, intake, lambda: bool(_answers(intake, "/timezone")), finish=False)
    before = len(intake.recorded_answers)
    dashboard.session = NEXT
    asyncio.run(source.finish(intake))
    after = intake.recorded_answers[before:]
    assert {session for session, _ in after} == {NEXT}
    assert "/timezone" in {answer.endpoint for _, answer in after}, "what does not change is asked for again"


def test_the_token_is_sent_and_a_wrong_one_is_said_once(
    dashboard: FakeDashboard,
    poller: Callable[..., Dashboard],
    intake: RecordingIntake,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    token = tmp_path / "token"
    token.write_text("wrong\n")
    dashboard.token = "right"

    class Impatient(SystemClock):
        async def sleep(self, seconds: float) -> None:
            await asyncio.sleep(min(seconds, 0.02))

    source = poller(Impatient(), token=Secret("file", str(token)))

    def mended() -> bool:
        if dashboard.times()["/api/version"] > 5:
            token.write_text("right\n")
        return bool(_answers(intake, "/api/jobs/"))

    _run(source, intake, mended)
    said = [record.message for record in caplog.records if "does not let the collector in" in record.message]
    assert len(said) == 1
    assert "RAY_AUTH_TOKEN" in said[0]


def test_an_error_in_plain_text_is_kept_as_a_json_text_and_other_text_is_not(
    dashboard: FakeDashboard, poller: Callable[..., Dashboard], intake: RecordingIntake
) -> None:
    dashboard.bodies["/api/cluster_status"] = b"<html>a proxy's page</html>"
    _run(poller(), intake, lambda: dashboard.times()["/api/cluster_status"] > 1)
    assert _answers(intake, "/api/cluster_status") == []
    assert "404: Not Found" in _answers(intake, "/api/v0/objects?detail=1&limit=10000")
    assert {"result": False} in _answers(intake, "/api/grafana_health")


def test_the_collector_asks_as_a_browser_does(
    dashboard: FakeDashboard, poller: Callable[..., Dashboard], intake: RecordingIntake
) -> None:
    """A browser is shown no secrets of runtime environments, and it is browsers that read the archive."""
    _run(poller(), intake, lambda: bool(_answers(intake, "/api/jobs/")))
    assert all(agent.startswith("Mozilla/") for agent in dashboard.agents)


def test_no_session_name_of_the_network_becomes_a_path(
    dashboard: FakeDashboard, poller: Callable[..., Dashboard], intake: RecordingIntake
) -> None:
    dashboard.session = "../../etc"
    _run(poller(), intake, lambda: dashboard.times()["/api/version"] >= 1)
    assert intake.recorded_answers == []
