"""An event is filed by its own session, reporting node and job, whatever its type and dialect."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from rayhist.errors import DataError
from rayhist_collector import envelope
from rayhist_testkit.recordings import RAY_2_60, Recording

JOB_HEX = "0b000000"
JOB = base64.b64encode(bytes.fromhex(JOB_HEX)).decode()
NODE_HEX = "ab" * 28
NODE = base64.b64encode(bytes.fromhex(NODE_HEX)).decode()
SESSION = "session_2026-11-30_15-25-10_490256_10672"

# Every type that Ray 2.60 sends, with the name of its payload and whether that has a job id.
TYPES = [
    ("NODE_DEFINITION_EVENT", "nodeDefinitionEvent", False),
    ("NODE_LIFECYCLE_EVENT", "nodeLifecycleEvent", False),
    ("WORKER_DEFINITION_EVENT", "workerDefinitionEvent", False),
    ("WORKER_LIFECYCLE_EVENT", "workerLifecycleEvent", True),
    ("DRIVER_JOB_DEFINITION_EVENT", "driverJobDefinitionEvent", True),
    ("DRIVER_JOB_LIFECYCLE_EVENT", "driverJobLifecycleEvent", True),
    ("ACTOR_DEFINITION_EVENT", "actorDefinitionEvent", True),
    ("ACTOR_LIFECYCLE_EVENT", "actorLifecycleEvent", False),
    ("TASK_DEFINITION_EVENT", "taskDefinitionEvent", True),
    ("ACTOR_TASK_DEFINITION_EVENT", "actorTaskDefinitionEvent", True),
    ("TASK_LIFECYCLE_EVENT", "taskLifecycleEvent", True),
    ("TASK_PROFILE_EVENT", "taskProfileEvents", True),
]


def _posted(kind: str, payload: str, job: str | None, **fields: Any) -> bytes:
    inner = {"x": 1} | ({"jobId": job} if job is not None else {})
    made = {"eventId": "id", "eventType": kind, "sessionName": SESSION, "nodeId": NODE, payload: inner}
    return json.dumps(made | fields).encode()


@pytest.mark.parametrize(("kind", "payload", "has_job"), TYPES)
def test_the_job_is_found_in_the_payload_of_every_type(kind: str, payload: str, has_job: bool) -> None:
    """Looked for at the top, every event would be one of no job."""
    filed = envelope.read(_posted(kind, payload, JOB if has_job else None))
    assert filed == ("id", kind, (SESSION, NODE_HEX, JOB_HEX if has_job else ""))


@pytest.mark.parametrize(("kind", "payload", "has_job"), TYPES)
def test_the_snake_case_dialect_is_the_same_event(kind: str, payload: str, has_job: bool) -> None:
    snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in payload)
    inner = {"job_id": JOB} if has_job else {"x": {"job_id": JOB}}
    line = {"event_id": "id", "event_type": kind, "session_name": SESSION, "node_id": NODE, snake: inner}
    filed = envelope.read(json.dumps(line).encode())
    assert filed == ("id", kind, (SESSION, NODE_HEX, JOB_HEX if has_job else ""))


def test_a_type_of_a_later_ray_is_filed_under_its_job_too() -> None:
    assert envelope.read(_posted("PLACEMENT_GROUP_DEFINITION_EVENT", "whatever", JOB)).group.job == JOB_HEX


@pytest.mark.parametrize("job", ["", "/////w==", None])
def test_no_job_and_the_nil_job_are_no_job(job: str | None) -> None:
    assert envelope.read(_posted("TASK_LIFECYCLE_EVENT", "taskLifecycleEvent", job)).group.job == ""


def test_an_event_of_ray_2_53_names_no_node() -> None:
    line = json.loads(_posted("TASK_LIFECYCLE_EVENT", "taskLifecycleEvent", JOB))
    del line["nodeId"]
    assert envelope.read(json.dumps(line).encode()).group.node == ""


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"sessionName": ""}, "no session"),
        ({"sessionName": "../../etc"}, "hostile session name"),
        ({"sessionName": SESSION + "/../x"}, "hostile session name"),
        ({"sessionName": 7}, "not an event"),
        ({"eventType": ""}, "not an event"),
        ({"eventType": "X" * 500}, "not an event"),
        ({"nodeId": "../x"}, "bad id"),
        ({"nodeId": "YWJj"}, "bad id"),
        ({"taskLifecycleEvent": {"jobId": "!!"}}, "bad id"),
        ({"taskLifecycleEvent": {"jobId": 1}}, "not an event"),
        ({"taskLifecycleEvent": "text"}, "not an event"),
    ],
)
def test_what_cannot_be_filed_is_refused_with_its_reason(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        envelope.read(_posted("TASK_LIFECYCLE_EVENT", "taskLifecycleEvent", JOB, **change))


@pytest.mark.parametrize("line", [b"", b"1", b"null", b"[]", b'"x"', b"{", b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_object_is_no_event(line: bytes) -> None:
    with pytest.raises(DataError):
        envelope.read(line)


def test_all_events_of_a_real_ray_are_filed() -> None:
    """4,000 events of Ray 2.60; of the tasks' and drivers' events, none is left without its job."""
    lines = Recording(RAY_2_60).all_events
    for line in lines:
        filed, event = envelope.read(line), json.loads(line)
        assert (filed.event_id, filed.event_type) == (event["eventId"], event["eventType"])
        assert filed.group.node == base64.b64decode(event["nodeId"]).hex()
        assert filed.group.job or not filed.event_type.startswith(("TASK", "ACTOR_TASK", "DRIVER_JOB"))
    assert len(lines) > 3000
