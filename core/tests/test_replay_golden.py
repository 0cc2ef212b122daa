"""A real cluster of Ray 2.60, recorded and replayed, is what its dashboard showed of it.

Where replay knows better than the dashboard did, the test says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from rayhist.index import Index
from rayhist.query import Query, run
from rayhist.resources import ACTORS, JOBS, NODES, OBJECTS, PLACEMENT_GROUPS, WORKERS, Resource
from rayhist_testkit.comparing import ABSENT, all_differences
from rayhist_testkit.recordings import AFTER_NODE_DEATH, END, LIVE

MOMENTS = (LIVE, AFTER_NODE_DEATH)
DEAD_NODE = "e8182da48bec8308cc5a8ea4dba7846d5e40f1207256c0d36b4acd02"
STOPPED_NODE = "294487586ccf46fc2c2c1bfe697b2ab75eaa2f7c959621a62b5d08bf"
"""Its raylet was stopped some time before the head's."""
HALF_KNOWN_DRIVERS = {
    "03000000ffffffffffffffffffffffffffffffffffffffffffffffff",
    "0c000000ffffffffffffffffffffffffffffffffffffffffffffffff",
}
"""Ray itself had forgotten when these two began; their jobs' events had not."""

Replay = Callable[[str], Any]


def run_query(index: Index, resource: Resource) -> list[dict[str, Any]]:
    page = run(index, resource, Query(limit=10_000, detail=True))
    return [msgspec.json.decode(row) for row in page.rows]


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("resource", [NODES, ACTORS, PLACEMENT_GROUPS], ids=lambda one: one.name)
def test_rows_are_what_the_state_api_listed(replayed: Replay, moment: str, resource: Resource) -> None:
    """Every column of every row."""
    at = replayed(moment)

    assert len(at.rows(resource)) >= 4
    assert all_differences(at.rows(resource), at.live_rows(resource)) == []


@pytest.mark.parametrize("moment", MOMENTS)
def test_workers_and_drivers_are_what_the_state_api_listed(replayed: Replay, moment: str) -> None:
    at = replayed(moment)
    found = all_differences(at.rows(WORKERS), at.live_rows(WORKERS))

    assert len(at.rows(WORKERS)) == 154
    assert {worker for worker, _ in found} == HALF_KNOWN_DRIVERS
    assert {(path, live) for _, (path, _, live) in found} == {
        (".pid", 0),
        (".start_time_ms", 0),
        (".worker_launch_time_ms", 0),
        (".worker_launched_time_ms", 0),
    }


@pytest.mark.parametrize("moment", MOMENTS)
def test_jobs_are_what_the_job_api_listed(replayed: Replay, moment: str) -> None:
    """Twelve submissions and six drivers, each field by field, in the same order."""
    at = replayed(moment)
    live = at.live("/api/jobs/")

    assert list(at.documents("job").values()) == live
    assert len(live) == 18


@pytest.mark.parametrize("moment", MOMENTS)
def test_jobs_are_what_the_state_api_listed(replayed: Replay, moment: str) -> None:
    at = replayed(moment)
    listed = at.live("/api/v0/jobs?detail=1&limit=10000")["data"]["result"]["result"]

    assert run_query(at.index, JOBS) == listed


def _id(job: dict[str, Any]) -> str:
    found: str = job["submission_id"] or job["job_id"]
    return found


def test_a_job_is_found_by_each_of_its_ids(replayed: Replay) -> None:
    """As by `/api/jobs/<id>`; a submission's earlier driver, which Ray did not find, leads there too."""
    at = replayed(LIVE)
    aliases, jobs = at.documents("job.alias"), at.documents("job")

    for asked in ("01000000", "0a000000", "raysubmit_2bFKNDz7zE1AWA9b", "my-custom_id.1"):
        assert jobs[aliases[asked]] == at.live(f"/api/jobs/{asked}")
    assert aliases["07000000"] == "raysubmit_2bFKNDz7zE1AWA9b"
    assert "99000000" not in aliases


@pytest.mark.parametrize("moment", MOMENTS)
def test_actors_are_what_the_pages_showed(replayed: Replay, moment: str) -> None:
    """51 actors, with the use of hardware of those that lived."""
    at = replayed(moment)
    live = at.live("/logical/actors")["data"]["actors"]
    found = all_differences(at.documents("actor"), live, tolerance_ms=0)
    shown_after_death = live["2c352753f378b104809e0e5f01000000"] if moment == AFTER_NODE_DEATH else {}

    assert len(live) == 51
    assert [
        (actor, path)
        for actor, (path, _, its) in found
        # The dashboard overwrites an actor's id when its process does not know it.
        if its != "ffffffffffffffffffffffffffffffff"
        # It goes on showing a dead actor's process for a while.
        and not (actor == "2c352753f378b104809e0e5f01000000" and shown_after_death)
    ] == []


def test_node_summaries_are_what_the_cluster_page_showed(replayed: Replay) -> None:
    at = replayed(LIVE)
    live = {one["raylet"]["nodeId"]: one for one in at.live("/nodes?view=summary")["data"]["summary"]}

    assert len(live) == 4
    assert all_differences(at.documents("node.summary"), live, tolerance_ms=0) == []


def test_node_details_are_what_the_node_page_showed(replayed: Replay) -> None:
    """With the node's actors and worker processes."""
    at = replayed(LIVE)
    details = at.documents("node.detail")
    live = {node: at.live(f"/nodes/{node}")["data"]["detail"] for node in details}
    found = [one for one in all_differences(details, live) if not one[1][0].endswith(".actorId")]

    assert len(live) == 4
    assert found == []


def test_a_dead_node_keeps_what_the_dashboard_forgets(replayed: Replay) -> None:
    """Live, a dead node loses its name, labels, resources and ports; statistics are its last."""
    at = replayed(AFTER_NODE_DEATH)
    live = {one["raylet"]["nodeId"]: one for one in at.live("/nodes?view=summary")["data"]["summary"]}
    found = all_differences(at.documents("node.summary"), live)
    raylet = at.documents("node.summary")[DEAD_NODE]["raylet"]

    assert {node for node, _ in found} == {DEAD_NODE}
    assert all(known in ({}, "", "0", 0, ABSENT) for _, (_, _, known) in found)
    assert (raylet["state"], raylet["nodeName"], raylet["labels"]["wl"]) == ("DEAD", "127.0.0.4", "node3")
    assert raylet["stateMessage"] == live[DEAD_NODE]["raylet"]["stateMessage"]


def test_polled_lists_are_kept_as_they_were(replayed: Replay) -> None:
    at = replayed(LIVE)
    objects = at.live("/api/v0/objects?detail=1&limit=10000")["data"]["result"]["result"]
    answers = at.documents("answer")

    assert len(at.rows(OBJECTS)) == len({one["object_id"] for one in objects}) > 40
    assert answers["/timezone"]["body"] == at.live("/timezone")
    assert answers["/api/serve/applications"]["body"] == at.live("/api/serve/applications/")
    assert answers["/api/cluster_status?format=1"]["status"] == 200


def test_rows_and_documents_name_the_same_jobs(replayed: Replay) -> None:
    at = replayed(LIVE)

    assert {row["job_id"] for row in at.rows(JOBS).values() if row["job_id"]} == {
        job["job_id"] for job in at.documents("job").values() if job["job_id"]
    }


def test_nothing_goes_on_in_a_cluster_that_has_ended(replayed: Replay) -> None:
    """No state that a browser would count up from; every node's logs can be reached by clicks."""
    at = replayed(END)
    summaries = at.documents("node.summary")

    jobs = at.documents("job").values()
    assert {job["status"] for job in jobs} <= {"SUCCEEDED", "FAILED", "STOPPED"}
    assert all(job["end_time"] for job in jobs)
    assert {actor["state"] for actor in at.documents("actor").values()} == {"DEAD"}
    assert all(actor["endTime"] for actor in at.documents("actor").values())
    assert not any(worker["is_alive"] for worker in at.rows(WORKERS).values())
    assert all(worker["end_time_ms"] for worker in at.rows(WORKERS).values())
    assert {node["state"] for node in at.rows(NODES).values()} == {"DEAD"}
    died_before = {node for node, one in summaries.items() if one["raylet"]["state"] != "ALIVE"}
    assert died_before == {DEAD_NODE, STOPPED_NODE} < summaries.keys()
    assert all(one["raylet"]["stateMessage"] for one in summaries.values())


def test_jobs_that_were_running_or_waiting_at_the_end_did_not_succeed(replayed: Replay) -> None:
    ids, jobs = replayed(END).recording.ids, replayed(END).documents("job")
    running, pending = jobs[ids["submission.running"]], jobs[ids["submission.pending"]]

    assert (running["status"], pending["status"]) == ("FAILED", "FAILED")
    assert running["message"].endswith("the job's last known status was RUNNING.")
    assert pending["message"].endswith("the job's last known status was PENDING.")
    assert (running["driver_exit_code"], pending["driver_exit_code"]) == (None, None)
