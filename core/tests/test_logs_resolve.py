"""A request means exactly one stretch of one recorded file, or it is an error that says why."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rayhist.index import Index, IndexWriter
from rayhist.logs import LogError, LogRequest, LogSlice, parse_request, resolve
from rayhist.resources import TASKS
from rayhist_testkit.logs import NODE, LogArchive

OTHER = "0b" * 28
WORKER, EARLIER, UNWRITTEN = "a1" * 28, "a2" * 28, "a3" * 28
ACTOR, MOVED, SILENT, PENDING, LOST = (f"0{number}" * 16 for number in range(1, 6))
FOLDER = "/tmp/ray/session_2026-11-30_15-30-13_707929_24810/logs"
OUT = f"worker-{WORKER}-01000000-77.out"


def _task(
    name: str, start: int | None, end: int | None, started: float | None = 1.0, **more: Any
) -> dict[str, Any]:
    info: dict[str, Any] = {"stdout_file": f"{FOLDER}/{OUT}"}
    info |= {key: value for key, value in (("stdout_start", start), ("stdout_end", end)) if value is not None}
    return {
        "task_id": _id(name),
        "attempt_number": 0,
        "node_id": NODE,
        "worker_id": WORKER,
        "start_time_ms": started,
        "task_log_info": info,
    } | more


def _id(name: str) -> str:
    return name.encode().hex().ljust(48, "0")


ROWS = [
    _task("whole", 10, 20),
    _task("retried", 20, 20, attempt_number=3),
    _task("endless", 30, None, started=5.0),
    _task("next", 35, 38, started=6.0),
    _task("last", 40, None, started=9.0),
    _task("startless", None, 50),
    _task("backwards", 9, 3),
    _task("unplaced", 1, 2, node_id=None),
    _task("unrecorded", 1, 2, node_id=OTHER),
    _task("fileless", 1, 2, task_log_info={"stdout_end": 2, "stderr_end": 2}),
    _task("before", 1, None, started=1.0, worker_id=EARLIER),
    _task("unknown", 1, 2, started=2.0, worker_id=EARLIER, task_log_info=None),
    _task("undated", 1, None, started=None),
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    archive = LogArchive()
    path: Path = tmp_path_factory.mktemp("index") / "index.sqlite"
    writer = IndexWriter(path)

    async def build() -> None:
        await archive.file(OUT, b"x" * 60)
        await archive.file(f"worker-{WORKER}-01000000-77.err", b"x" * 5)
        await archive.file(f"worker-{EARLIER}-ffffffff-770.out", b"x" * 6, node=OTHER)
        await archive.file("serve/controller_1.log", b"x" * 7)
        await archive.file("job-driver-raysubmit_moved.log", b"x" * 8, node=OTHER)
        await archive.file("job-driver-my-custom_id.1.log", b"x" * 9)
        await archive.file("job-driver-my-custom_id.1.log", b"x" * 10, node=OTHER)
        await archive.index(writer)

    asyncio.run(build())
    writer.rows(TASKS, ROWS)
    writer.document(
        "node.summary", NODE, {"raylet": {"nodeId": NODE, "sessionDir": FOLDER.removesuffix("/logs")}}
    )
    lives = [
        {"worker_id": WORKER, "node_id": NODE, "pid": 77},
        {"worker_id": EARLIER, "node_id": OTHER, "pid": 770},
    ]
    writer.document("actor.workers", ACTOR, lives)
    writer.document("actor.workers", MOVED, [{"worker_id": UNWRITTEN, "node_id": NODE, "pid": 1}, lives[1]])
    writer.document("actor.workers", SILENT, [{"worker_id": UNWRITTEN, "node_id": NODE, "pid": 1}])
    writer.document("actor.workers", PENDING, [])
    writer.document("actor.workers", LOST, [{"worker_id": UNWRITTEN, "node_id": "0d" * 28, "pid": 1}])
    writer.document("job", "my-custom_id.1", {"driver_node_id": OTHER})
    writer.finish()
    index = Index(path)
    yield index
    index.close()


def _failure(index: Index, request: LogRequest) -> LogError:
    with pytest.raises(LogError) as caught:
        resolve(index, request)
    return caught.value


def test_a_task_has_exactly_the_bytes_that_its_attempt_wrote(index: Index) -> None:
    assert resolve(index, LogRequest(task_id=_id("whole"))) == LogSlice(NODE, OUT, 10, 20)
    assert resolve(index, LogRequest(task_id=_id("whole").upper())) == LogSlice(NODE, OUT, 10, 20)
    retried = LogRequest(task_id=_id("retried"), attempt_number=3)
    assert resolve(index, retried) == LogSlice(NODE, OUT, 20, 20)


def test_an_output_that_was_not_closed_ends_where_the_workers_next_task_began(index: Index) -> None:
    assert resolve(index, LogRequest(task_id=_id("endless"))) == LogSlice(NODE, OUT, 30, 35)
    assert resolve(index, LogRequest(task_id=_id("last"))) == LogSlice(NODE, OUT, 40, 60)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("startless", f"where it begins in {OUT} was not recorded"),
        ("backwards", f"where it ends in {OUT} was not recorded"),
        ("before", f"where it ends in {OUT} was not recorded"),
        ("undated", f"where it ends in {OUT} was not recorded"),
        (
            "unplaced",
            f"Could not find log file for task attempt.{_id('unplaced')}(0) due to missing node info.",
        ),
        ("unrecorded", f"A file is not found at: logs/{OUT}"),
        ("fileless", "Missing log filename info in {'stdout_end': 2, 'stderr_end': 2} for task"),
        ("unknown", "log_info = None"),
        ("nosuch", f"Could not find log file for task: {_id('nosuch')} (attempt 0) with suffix: out"),
        ("retried", f"Could not find log file for task attempt:{_id('retried')}(0)"),
    ],
)
def test_what_a_task_wrote_is_an_error_where_it_is_not_certain(index: Index, name: str, text: str) -> None:
    """Never the lines of another task."""
    assert text in str(_failure(index, LogRequest(task_id=_id(name))))


def test_an_actor_has_the_file_of_its_latest_life_that_wrote_one(index: Index) -> None:
    assert resolve(index, LogRequest(actor_id=ACTOR)) == LogSlice(NODE, OUT, 0, 60)
    earlier = LogSlice(OTHER, f"worker-{EARLIER}-ffffffff-770.out", 0, 6)
    assert resolve(index, LogRequest(actor_id=MOVED)) == earlier


def test_an_actor_without_a_file_is_an_error_that_says_what_is_known(index: Index) -> None:
    assert str(_failure(index, LogRequest(actor_id=PENDING))) == (
        f"Worker ID for Actor ID ActorID({PENDING}) not found. Actor is not scheduled yet."
    )
    assert f"\tnode_id: {NODE}\n\tfilename: None\n\tactor_id: {SILENT}\n" in str(
        _failure(index, LogRequest(actor_id=SILENT))
    )
    assert str(_failure(index, LogRequest(actor_id=LOST))) == f"Agent for node id: {'0d' * 28} doesn't exist."
    unknown = "09" * 16
    assert str(_failure(index, LogRequest(actor_id=unknown))) == f"Actor ID ActorID({unknown}) not found."
    assert _failure(index, LogRequest(actor_id="../x")).status == 400


def test_a_process_is_found_by_the_whole_of_its_id(index: Index) -> None:
    found = resolve(index, LogRequest(node_id=NODE, pid=77, suffix="err"))
    assert found == LogSlice(NODE, f"worker-{WORKER}-01000000-77.err", 0, 5)
    assert resolve(index, LogRequest(node_id=OTHER, pid=770)).path.endswith("-770.out")
    assert "\tpid: 7\n" in str(_failure(index, LogRequest(node_id=NODE, pid=7)))


def test_a_submissions_log_is_looked_for_on_every_node(index: Index) -> None:
    """After a restart of the head, another node than the job's has it."""
    moved = LogSlice(OTHER, "job-driver-raysubmit_moved.log", 0, 8)
    assert resolve(index, LogRequest(submission_id="raysubmit_moved")) == moved
    assert resolve(index, LogRequest(submission_id="raysubmit_moved", node_id=NODE)) == moved
    assert resolve(index, LogRequest(node_id=NODE, filename="job-driver-raysubmit_moved.log")) == moved
    gone = LogRequest(node_id="0d" * 28, filename="job-driver-raysubmit_moved.log")
    assert resolve(index, gone) == moved
    assert "\tsubmission_id: raysubmit_nosuch\n" in str(
        _failure(index, LogRequest(submission_id="raysubmit_nosuch"))
    )


def test_of_several_nodes_with_a_submissions_log_its_drivers_is_taken(index: Index) -> None:
    assert resolve(index, LogRequest(submission_id="my-custom_id.1")).node == OTHER
    assert resolve(index, LogRequest(submission_id="my-custom_id.1", node_id=NODE)).node == NODE


@pytest.mark.parametrize(
    "filename", ["serve/controller_1.log", "./serve//controller_1.log", f"{FOLDER}/serve/controller_1.log"]
)
def test_a_file_is_named_by_its_path_or_as_the_node_called_it(index: Index, filename: str) -> None:
    found = resolve(index, LogRequest(node_id=NODE, filename=filename))
    assert found == LogSlice(NODE, "serve/controller_1.log", 0, 7)


def test_a_file_that_was_not_recorded_is_an_error_in_rays_words(index: Index) -> None:
    assert str(_failure(index, LogRequest(node_id=NODE, filename="nosuch.log"))) == (
        f"A file is not found at: {FOLDER}/nosuch.log"
    )
    assert str(_failure(index, LogRequest(node_id="0d" * 28, filename="raylet.out"))) == (
        f"Agent for node id: {'0d' * 28} doesn't exist."
    )


@pytest.mark.parametrize(
    "filename",
    [
        "../raylet.out",
        "serve/../../x",
        f"{FOLDER}/../../secret",
        "/etc/passwd",
        "%2e%2e/raylet.out",
        "raylet.out\0.log",
        "a\nb",
        "..\\raylet.out",
        "x" * 100_000,
        "/" * 10_000,
        "/session_x" * 5_000 + "/logs/",
        "\ud800",
        "raylet.out'; DROP TABLE log_files; --",
    ],
)
def test_no_name_reaches_outside_the_nodes_recorded_files(index: Index, filename: str) -> None:
    for request in (
        LogRequest(node_id=NODE, filename=filename),
        LogRequest(submission_id=filename),
        LogRequest(task_id=filename),
        LogRequest(actor_id=filename),
        LogRequest(node_id=filename, filename="raylet.out"),
        LogRequest(node_ip=filename, filename="raylet.out"),
    ):
        failure = _failure(index, request)
        assert failure.status in {400, 404, 500}
        assert len(str(failure)) < 1000
        str(failure).encode()
    assert len(index.log_files(NODE)) == 4


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"node_id": NODE}, "None of actor_id, task_id, pid, submission_id or filename is provided."),
        ({"filename": "raylet.out"}, "node_id or node_ip must be provided"),
        ({"pid": "7"}, "node_id or node_ip must be provided"),
        ({"node_id": NODE, "node_ip": "1.2.3.4", "filename": "x"}, "Both node_id and node_ip are given."),
        ({"task_id": "x", "suffix": "bad"}, "Invalid suffix: bad. Must be one of 'out' or 'err'."),
        ({"task_id": "x", "lines": "abc"}, "lines must be a whole number from -1 on: 'abc'"),
        ({"task_id": "x", "lines": "-2"}, "lines must be a whole number from -1 on: '-2'"),
        ({"task_id": "x", "lines": "9" * 5000}, "lines must be a whole number"),
        ({"task_id": "x", "attempt_number": "1.5"}, "attempt_number must be a whole number from 0 on"),
        ({"node_id": NODE, "pid": "-7"}, "pid must be a whole number from 0 on"),
    ],
)
def test_a_request_that_breaks_rays_rules_is_refused_with_the_rule(
    parameters: dict[str, str], text: str
) -> None:
    with pytest.raises(LogError) as caught:
        parse_request(parameters)
    assert text in str(caught.value)
    assert caught.value.status == 400
    assert len(str(caught.value)) < 500


def test_parameters_have_rays_defaults() -> None:
    assert parse_request({"task_id": "x", "nosuch": "1", "lines": ""}) == LogRequest(task_id="x", lines=1000)
    assert parse_request({"task_id": "x", "lines": "0"}).lines == 1000
    assert parse_request({"task_id": "x", "lines": "50000"}).lines == 50_000
    asked = {
        "task_id": "x",
        "lines": "-1",
        "filter_ansi_code": "True",
        "attempt_number": "2",
        "suffix": "err",
    }
    assert parse_request(asked) == LogRequest(
        task_id="x", lines=-1, filter_ansi_code=True, attempt_number=2, suffix="err"
    )
