"""Worker processes and drivers: how they lived, and how their end is told when Ray did not."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayhist.errors import DataError
from rayhist.events import decode
from rayhist.replay.jobs import JobFold
from rayhist.replay.workers import WorkerFold
from rayhist.resources import WORKERS
from rayhist_testkit.folding import ENDED, Folded, event, fold, in_base64, listed

NODE, WORKER = "ab" * 28, "ee" * 28
DRIVER = "01000000" + "ff" * 24


def definition(at: str = "2026-11-30T15:31:00Z", **fields: object) -> dict[str, Any]:
    known = {"workerId": in_base64(WORKER), "nodeId": in_base64(NODE), "workerType": "WORKER", "pid": 42}
    return event("WORKER_DEFINITION_EVENT", at, **(known | fields))


def lifecycle(*transitions: dict[str, Any], job: str = "01000000") -> dict[str, Any]:
    return event(
        "WORKER_LIFECYCLE_EVENT",
        workerId=in_base64(WORKER),
        jobId=in_base64(job),
        stateTransitions=list(transitions),
    )


ALIVE = {
    "state": "ALIVE",
    "timestamp": "2026-11-30T15:31:00Z",
    "workerLaunchTimeMs": "1796052660100",
    "workerLaunchedTimeMs": "1796052660200",
    "startTimeMs": "1796052660300",
    "endTimeMs": "0",
}
DEAD = {
    "state": "DEAD",
    "timestamp": "2026-11-30T15:32:00Z",
    "workerLaunchTimeMs": "0",
    "workerLaunchedTimeMs": "0",
    "startTimeMs": "0",
    "endTimeMs": "1796052720000",
    "deathInfo": {"exitType": "INTENDED_USER_EXIT", "exitDetail": "exit_actor() is called."},
}
NODE_EVENTS = [
    event("NODE_DEFINITION_EVENT", nodeId=in_base64(NODE), nodeIpAddress="10.0.0.1"),
    event(
        "NODE_LIFECYCLE_EVENT",
        nodeId=in_base64(NODE),
        stateTransitions=[{"state": "ALIVE", "timestamp": "2026-11-30T15:30:00Z", "resources": {"CPU": 1}}],
    ),
]
NODE_DIED = event(
    "NODE_LIFECYCLE_EVENT",
    nodeId=in_base64(NODE),
    stateTransitions=[
        {
            "state": "DEAD",
            "timestamp": "2026-11-30T15:40:00Z",
            "deathInfo": {"reason": "EXPECTED_TERMINATION", "reasonMessage": "received SIGTERM"},
        }
    ],
)


def driver(*states: str) -> list[dict[str, Any]]:
    transitions = [{"state": one, "timestamp": f"2026-11-30T15:3{at}:00Z"} for at, one in enumerate(states)]
    return [
        event(
            "DRIVER_JOB_DEFINITION_EVENT",
            jobId=in_base64("01000000"),
            driverPid="77",
            driverNodeId=in_base64(NODE),
            entrypoint="python x.py",
        ),
        event("DRIVER_JOB_LIFECYCLE_EVENT", jobId=in_base64("01000000"), stateTransitions=transitions),
    ]


def row(folded: Folded, worker: str = WORKER) -> dict[str, Any]:
    return {one["worker_id"]: one for one in folded.rows(WORKERS)}[worker]


def test_a_living_worker_has_its_times_and_its_nodes_address() -> None:
    assert row(fold([*NODE_EVENTS, definition(), lifecycle(ALIVE)])) == {
        "worker_id": WORKER,
        "is_alive": True,
        "worker_type": "WORKER",
        "exit_type": None,
        "node_id": NODE,
        "ip": "10.0.0.1",
        "pid": 42,
        "exit_detail": None,
        "worker_launch_time_ms": 1796052660100,
        "worker_launched_time_ms": 1796052660200,
        "start_time_ms": 1796052660300,
        "end_time_ms": 0,
        "debugger_port": None,
        "num_paused_threads": None,
    }


def test_the_zeros_of_a_death_do_not_blank_the_times_of_the_life() -> None:
    """Both transitions may be in one event, or come as two, the death first."""
    apart = row(fold([lifecycle(DEAD), definition(), lifecycle(ALIVE)]))

    assert row(fold([definition(), lifecycle(ALIVE, DEAD)])) == apart
    assert (apart["is_alive"], apart["start_time_ms"], apart["end_time_ms"]) == (
        False,
        1796052660300,
        1796052720000,
    )
    assert (apart["exit_type"], apart["exit_detail"]) == ("INTENDED_USER_EXIT", "exit_actor() is called.")


def test_a_worker_that_outlived_its_cluster_ended_with_it() -> None:
    """How it exited is not made up."""
    found = row(fold([*NODE_EVENTS, definition(), lifecycle(ALIVE)], end=ENDED))

    assert (found["is_alive"], found["exit_type"], found["end_time_ms"]) == (False, None, ENDED.at_ms)
    assert found["exit_detail"].startswith("The cluster ended at 2026-11-30 17:33:20 UTC.")


def test_a_worker_of_a_node_that_died_ended_with_the_node() -> None:
    """Ray sends no event of it and calls such workers alive; so does replay, until the cluster has ended."""
    events = [*NODE_EVENTS, definition(), lifecycle(ALIVE), NODE_DIED]
    found = row(fold(events, end=ENDED))

    assert row(fold(events))["is_alive"] is True
    assert (found["is_alive"], found["end_time_ms"]) == (False, 1796053200000)
    assert found["exit_detail"] == "The worker's node died. Expected termination: received SIGTERM"


def test_a_driver_comes_from_its_jobs_events() -> None:
    """Its id is the job's, filled up with ones; Ray's events have no worker of it."""
    found = row(fold([*NODE_EVENTS, *driver("CREATED")]), DRIVER)

    assert (found["worker_type"], found["pid"], found["ip"]) == ("DRIVER", 77, "10.0.0.1")
    assert (found["is_alive"], found["start_time_ms"], found["end_time_ms"]) == (True, 1796052600000, 0)
    assert found["worker_launch_time_ms"] == 18446744073709551615


def test_how_a_driver_exited_is_known_only_to_the_polled_list() -> None:
    seen = {
        "worker_id": DRIVER,
        "is_alive": False,
        "worker_type": "DRIVER",
        "exit_type": "SYSTEM_ERROR",
        "exit_detail": "killed",
        "pid": 0,
        "end_time_ms": 1796052660001,
    }
    ended = driver("CREATED", "FINISHED")
    unseen, known = row(fold(ended), DRIVER), row(fold(ended, answers=[listed("workers", [seen])]), DRIVER)

    assert (unseen["exit_type"], unseen["is_alive"]) == (None, False)
    assert unseen["exit_detail"] == "The driver has ended; Ray's events do not say how."
    assert (known["exit_type"], known["exit_detail"], known["pid"]) == ("SYSTEM_ERROR", "killed", 77)


def test_a_worker_that_either_calls_dead_is_dead() -> None:
    """The list was taken before the death, or the event of the death was lost."""
    living = {"worker_id": WORKER, "is_alive": True, "worker_type": "WORKER", "pid": 42}
    dead = living | {"is_alive": False, "exit_type": "USER_ERROR", "end_time_ms": 7}

    assert (
        row(fold([definition(), lifecycle(DEAD)], answers=[listed("workers", [living])]))["is_alive"] is False
    )
    found = row(fold([definition(), lifecycle(ALIVE)], answers=[listed("workers", [dead])]))
    assert (found["is_alive"], found["exit_type"], found["end_time_ms"]) == (False, "USER_ERROR", 7)


def test_workers_are_known_from_the_polled_list_alone() -> None:
    """What has the wrong type in it says nothing, and a row that names no worker is left out."""
    rows = [
        {"worker_id": WORKER, "is_alive": True, "pid": "x", "node_id": ["y"]},
        {"pid": 1},
        {"worker_id": 2},
    ]
    folded = fold([], answers=[listed("workers", rows)])

    assert [one["worker_id"] for one in folded.rows(WORKERS)] == [WORKER]
    assert (row(folded)["pid"], row(folded)["node_id"], row(folded)["worker_type"]) == (0, None, "WORKER")


def test_an_unknown_time_is_rays_greatest_number() -> None:
    """It is no reason to refuse an event."""
    unknown = ALIVE | {"workerLaunchTimeMs": "18446744073709551615"}

    assert row(fold([definition(), lifecycle(unknown)]))["worker_launch_time_ms"] == 18446744073709551615


@pytest.mark.parametrize(
    "bad",
    [
        definition(workerId=""),
        definition(workerId="AAAA"),
        definition(nodeId="not base64!"),
        definition("yesterday"),
        lifecycle(ALIVE | {"timestamp": "2026-13-01T00:00:00Z"}),
    ],
)
def test_nothing_is_taken_of_an_event_that_cannot_be_believed(bad: dict[str, Any]) -> None:
    workers = WorkerFold(JobFold())
    with pytest.raises(DataError):
        workers.add(decode(msgspec.json.encode(bad)))

    assert workers._events == {}
