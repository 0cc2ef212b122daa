"""What a running cluster has not shipped yet is named, and nothing else."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from rayhist import codec, layout
from rayhist.errors import NotFound
from rayhist.ids import Session
from rayhist.manifest import NodeManifest, Stored
from rayhist.source import Answer
from rayhist_testkit.cluster import ClusterSettings
from rayhist_testkit.demo.ledger import Group, Ledger
from rayhist_testkit.demo.shipped import newest_session, open_store, still_missing

NODE = "ab" * 28
JOB = "01000000"
SIZES = {"127.0.0.2": {"raylet.out": 10, "events/event_GCS.log": 3}}
LEDGER = Ledger(
    driver_job=JOB,
    task_counts={"FINISHED": 1, "FAILED": 1, "RUNNING": 5},
    groups={"pg": Group("g1", "pg", "CREATED")},
    applications={"app": "RUNNING"},
)


@pytest.fixture
def settings(tmp_path: Path) -> ClusterSettings:
    return ClusterSettings(storage_url=(tmp_path / "archive").as_uri(), namespace="n", name="c")


def _lifecycle(task: int, attempt: int, *states: str) -> bytes:
    task_id = base64.b64encode(bytes([task]) * 24).decode()
    transitions = [{"state": state} for state in states]
    event = {"taskId": task_id, "taskAttempt": attempt, "stateTransitions": transitions}
    return msgspec.json.encode({"eventType": "TASK_LIFECYCLE_EVENT", "taskLifecycleEvent": event})


def _ship(settings: ClusterSettings, objects: dict[layout.Reference, bytes]) -> None:
    async def put() -> None:
        async with open_store(settings) as store:
            for reference, data in objects.items():
                await store.put(layout.key(reference), data)

    asyncio.run(put())


def _everything(settings: ClusterSettings) -> dict[layout.Reference, bytes]:
    session = Session(settings.cluster(), "session_2026-11-30_15-25-10_490256_10672")
    logs = {"raylet.out": Stored(bytes=12), "events/event_GCS.log": Stored(bytes=3)}
    groups: Any = {"data": {"result": {"result": [{"placement_group_id": "g1", "state": "CREATED"}]}}}
    serve: Any = {"applications": {"app": {"status": "RUNNING"}}}
    history = [
        Answer("/api/v0/placement_groups?detail=1&limit=10000", 5, 200, _raw(groups)),
        Answer("/api/serve/applications", 5, 200, _raw(serve)),
    ]
    first = [_lifecycle(1, 0, "RUNNING"), _lifecycle(1, 0, "SUBMITTED_TO_WORKER", "FAILED")]
    second = [_lifecycle(1, 1, "FINISHED"), _lifecycle(2, 0, "RUNNING"), b'{"eventType":"OTHER"}']
    return {
        layout.Marker(session): b"",
        layout.NodeManifest(session, NODE): msgspec.json.encode(NodeManifest(ip="127.0.0.2", logs=logs)),
        layout.SnapshotFile(session, 1, 0): codec.encode([msgspec.json.encode(one) for one in history]),
        layout.EventFile(session, NODE, JOB, "2026-11-30-15", 1): codec.encode(first),
        layout.EventFile(session, NODE, JOB, "2026-11-30-15", 2): codec.encode(second),
    }


def _raw(body: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(body))


def test_nothing_is_missing_when_all_is_there(settings: ClusterSettings) -> None:
    _ship(settings, _everything(settings))
    assert still_missing(settings, LEDGER, SIZES) == []
    assert newest_session(settings).name == "session_2026-11-30_15-25-10_490256_10672"


def test_before_the_collector_has_written_anything_the_marker_is_missing(settings: ClusterSettings) -> None:
    assert still_missing(settings, LEDGER, SIZES) == ["the session's marker"]
    with pytest.raises(NotFound):
        newest_session(settings)


@pytest.mark.parametrize(
    ("withheld", "said"),
    [
        (layout.NodeManifest, ["log raylet.out of 127.0.0.2", "log events/event_GCS.log of 127.0.0.2"]),
        (layout.SnapshotFile, ["group pg", "application app"]),
        (layout.EventFile, ["2 ends of task attempts"]),
    ],
)
def test_what_has_not_arrived_is_named(settings: ClusterSettings, withheld: type, said: list[str]) -> None:
    objects = _everything(settings)
    _ship(settings, {one: data for one, data in objects.items() if not isinstance(one, withheld)})
    assert still_missing(settings, LEDGER, SIZES) == said


def test_what_has_arrived_in_part_is_still_missing(settings: ClusterSettings) -> None:
    _ship(settings, _everything(settings))
    longer = {"127.0.0.2": {"raylet.out": 13}}
    assert still_missing(settings, LEDGER, longer) == ["log raylet.out of 127.0.0.2"]
    removed = replace(LEDGER, groups={"pg": Group("g1", "pg", "REMOVED")})
    assert still_missing(settings, removed, SIZES) == ["group pg"]
