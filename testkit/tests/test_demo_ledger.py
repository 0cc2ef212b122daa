"""The ledger, what becomes of it when the cluster is dead, and how an answer is compared with it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from msgspec.structs import replace

from rayhist_testkit.cluster.dashboard import Dashboard
from rayhist_testkit.demo import ledger
from rayhist_testkit.demo.check import mismatches
from rayhist_testkit.demo.ending import after_the_end
from rayhist_testkit.demo.ledger import Actor, Dataset, Group, Job, Ledger, Log, Task
from rayhist_testkit.demo.progress import Progress

LEDGER = Ledger(
    nodes=2,
    driver_job="01000000",
    jobs={"ok": Job("sub_1", "SUCCEEDED", message="success"), "own": Job("01000000", "RUNNING", "DRIVER")},
    tasks={"twice": Task("t1", "again", ["FAILED", "FINISHED"]), "on": Task("t2", "goes on", ["RUNNING"])},
    task_counts={"FAILED": 1, "FINISHED": 1, "RUNNING": 1},
    actors={"up": Actor("a1", "Counter", "ALIVE", name="c", restarts=1)},
    groups={"pg": Group("g1", "pg", "CREATED")},
    logs={
        "out": Log({"task_id": "t1"}, whole=b"all of it\xff"),
        "some": Log({"pid": "1"}, lines=[b"a line"]),
    },
    applications={"app": "RUNNING"},
    datasets={"set": Dataset("01000000", "FINISHED")},
    train_runs={"run": "FINISHED"},
)


def _attempt(task: str, number: int, name: str, state: str) -> dict[str, Any]:
    return {"task_id": task, "attempt_number": number, "name": name, "state": state, "error_type": None}


def _rows(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"data": {"result": {"result": rows}}}


def _answers() -> dict[str, Any]:
    """What a dashboard answers that agrees with the ledger."""
    nodes = [{"raylet": {"isHeadNode": True}}, {"raylet": {"isHeadNode": False}}]
    jobs = [
        {"submission_id": "sub_1", "job_id": "02000000", "type": "SUBMISSION", "status": "SUCCEEDED"},
        {"submission_id": None, "job_id": "01000000", "type": "DRIVER", "status": "RUNNING"},
    ]
    jobs[0]["message"] = "Job ended with success."
    actor = {"state": "ALIVE", "actorClass": "Counter", "name": "c", "numRestarts": "1", "exitDetail": "-"}
    tasks = [
        _attempt("t1", 1, "again", "FINISHED"),
        _attempt("t2", 0, "goes on", "RUNNING"),
        _attempt("t1", 0, "again", "FAILED"),
    ]
    return {
        "/nodes": {"data": {"summary": nodes}},
        "/api/jobs/": jobs,
        "/api/v0/tasks": _rows(tasks),
        "/logical/actors": {"data": {"actors": {"a1": actor}}},
        "/api/v0/placement_groups": _rows([{"placement_group_id": "g1", "name": "pg", "state": "CREATED"}]),
        "/api/v0/logs/file": {"t1": b"all of it\xff", None: b"first\na line\nlast"},
        "/api/serve/applications/": {"applications": {"app": {"status": "RUNNING"}}},
        "/api/data/datasets/01000000": {"datasets": [{"dataset": "set_1", "state": "FINISHED"}]},
        "/api/train/v2/runs/v1": {"train_runs": [{"name": "run", "status": "FINISHED"}]},
    }


class _Handler(BaseHTTPRequestHandler):
    answers: dict[str, Any]

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        answer = self.answers.get(url.path)
        if url.path.endswith("/logs/file"):
            task = parse_qs(url.query).get("task_id", [None])[0]
            body = answer[task]
        else:
            body = json.dumps(answer).encode()
        self.send_response(500 if answer is None else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def served() -> Iterator[tuple[Dashboard, dict[str, Any]]]:
    """A dashboard over HTTP, and the answers it gives."""
    answers = _answers()
    handler = type("Handler", (_Handler,), {"answers": answers})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield Dashboard(f"http://127.0.0.1:{server.server_port}"), answers
        server.shutdown()
        thread.join()


def test_a_dashboard_that_agrees_has_no_mismatch(served: tuple[Dashboard, dict[str, Any]]) -> None:
    dashboard, _ = served
    assert mismatches(dashboard, LEDGER) == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (replace(LEDGER, nodes=3), "nodes: all is 2, not 3"),
        (replace(LEDGER, jobs={"ok": Job("sub_1", "FAILED")}), "jobs: count is 2, not 1"),
        (
            replace(LEDGER, jobs={**LEDGER.jobs, "ok": Job("sub_1", "FAILED")}),
            "job ok: status is 'SUCCEEDED'",
        ),
        (replace(LEDGER, tasks={"x": Task("t1", "again", ["FINISHED"])}), "task x: states is ['FAILED', "),
        (replace(LEDGER, tasks={"x": Task("t9", "gone", ["FINISHED"])}), "task x: states is []"),
        (replace(LEDGER, task_counts={"FINISHED": 3}), "task attempts: FAILED is 1, not 0"),
        (
            replace(LEDGER, actors={"up": Actor("a1", "Counter", "DEAD")}),
            "actor up: state is 'ALIVE', not 'DEAD'",
        ),
        (replace(LEDGER, actors={"up": Actor("a9", "Counter", "DEAD")}), "actor up: state is None"),
        (
            replace(LEDGER, groups={"pg": Group("g1", "pg", "REMOVED")}),
            "placement group pg: state is 'CREATED'",
        ),
        (replace(LEDGER, logs={"out": Log({"task_id": "t1"}, whole=b"all of it")}), "log of out: 10 bytes"),
        (replace(LEDGER, logs={"out": Log({}, lines=[b"line"])}), "log of out: no line b'line' among its 3"),
        (replace(LEDGER, applications={"app": "DEPLOY_FAILED"}), "serve applications: app is 'RUNNING'"),
        (
            replace(LEDGER, datasets={"set": Dataset("01000000", "FAILED")}),
            "dataset set: states is ['FINISHED']",
        ),
        (replace(LEDGER, train_runs={"run": "ERRORED"}), "train runs: run is 'FINISHED', not 'ERRORED'"),
    ],
)
def test_each_difference_is_a_line(
    served: tuple[Dashboard, dict[str, Any]], wrong: Ledger, said: str
) -> None:
    dashboard, _ = served
    assert any(line.startswith(said) for line in mismatches(dashboard, wrong)), mismatches(dashboard, wrong)


@pytest.mark.parametrize("path", sorted(_answers()))
def test_an_answer_that_fails_or_has_another_shape_is_a_mismatch(
    served: tuple[Dashboard, dict[str, Any]], path: str
) -> None:
    dashboard, answers = served
    answers[path] = {"None": b"", None: b"", "t1": b""} if "logs/file" in path else {"shape": "other"}
    assert mismatches(dashboard, LEDGER)
    if "logs/file" not in path:
        answers[path] = None
        assert "status 500" in mismatches(dashboard, LEDGER)[0]


def test_a_dashboard_that_is_not_there_is_no_agreement() -> None:
    assert "Unavailable" in mismatches(Dashboard("http://127.0.0.1:9"), LEDGER)[0]


def test_after_the_end_nothing_goes_on() -> None:
    ended = after_the_end(LEDGER)
    assert ended.jobs["own"] == Job("01000000", "FAILED", "DRIVER", "last known status was RUNNING")
    assert ended.jobs["ok"] == LEDGER.jobs["ok"]
    assert ended.tasks["on"] == Task("t2", "goes on", ["FAILED"], "WORKER_DIED")
    assert ended.tasks["twice"] == LEDGER.tasks["twice"]
    assert ended.task_counts == {"FAILED": 2, "FINISHED": 1}
    assert ended.actors["up"].state == "DEAD"
    assert "ALIVE" in ended.actors["up"].death
    assert after_the_end(ended) == ended


def test_a_written_ledger_is_read_back_with_every_byte(tmp_path: Path) -> None:
    LEDGER.write(tmp_path / "ledger.json")
    assert ledger.read(tmp_path / "ledger.json") == LEDGER
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.json"]


def test_progress_counts_its_steps() -> None:
    stream = StringIO()
    progress = Progress(2, stream)
    progress.step("first")
    progress.step("second")
    lines = stream.getvalue().splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["[1/2]", "[2/2]"]
    assert lines[0].endswith("first")
