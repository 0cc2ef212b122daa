"""Nodes: what becomes of events, answers and manifests that are missing, late, empty or in conflict."""

from __future__ import annotations

from typing import Any

import pytest

from rayhist.manifest import NodeManifest, SessionMarker
from rayhist.resources import NODES
from rayhist_testkit.folding import ENDED, Folded, answer, event, fold, in_base64, listed

NODE, OTHER = "ab" * 28, "cd" * 28
HEAD = {"node:__internal_head__": 1.0, "CPU": 4.0, "object_store_memory": 100.0}
SUMMARY = "/nodes?view=summary"


def definition(at: str = "2026-11-30T15:31:00Z", node: str = NODE, **fields: object) -> dict[str, Any]:
    known = {
        "nodeId": in_base64(node),
        "nodeIpAddress": "10.0.0.1",
        "hostname": "host-1",
        "nodeName": "node-1",
        "labels": {"zone_name": "a"},
        "startTimestamp": "2026-11-30T15:30:15.690Z",
    }
    return event("NODE_DEFINITION_EVENT", at, **(known | fields))


def lifecycle(state: str, at: str, node: str = NODE, **fields: object) -> dict[str, Any]:
    transition = {"state": state, "timestamp": at, **fields}
    return event("NODE_LIFECYCLE_EVENT", at, nodeId=in_base64(node), stateTransitions=[transition])


def alive(at: str = "2026-11-30T15:30:16Z", **fields: object) -> dict[str, Any]:
    return lifecycle("ALIVE", at, resources=HEAD, **fields)


def dead(at: str = "2026-11-30T15:40:00.5Z") -> dict[str, Any]:
    death = {"reason": "UNEXPECTED_TERMINATION", "reasonMessage": "no heartbeat"}
    return lifecycle("DEAD", at, deathInfo=death)


def element(state: str = "ALIVE", **fields: object) -> dict[str, Any]:
    raylet = {"nodeId": NODE, "state": state, "nodeManagerPort": 4711, "objectStoreUsedMemory": 5}
    return {
        "now": 1796052625.7,
        "hostname": "host-1",
        "ip": "10.0.0.1",
        "cpu": 37.9,
        "raylet": raylet,
    } | fields


def summaries(*elements: dict[str, Any], at_ms: int) -> Any:
    return answer(SUMMARY, {"data": {"summary": list(elements)}}, at_ms=at_ms)


def row(folded: Folded, node: str = NODE) -> dict[str, Any]:
    return {one["node_id"]: one for one in folded.rows(NODES)}[node]


def test_a_row_is_made_of_definition_and_lifecycle() -> None:
    """Milliseconds; Ray's names of resources; no message while it lives."""
    assert row(fold([definition(), alive()])) == {
        "node_id": NODE,
        "node_ip": "10.0.0.1",
        "is_head_node": True,
        "state": "ALIVE",
        "state_message": None,
        "node_name": "node-1",
        "resources_total": HEAD,
        "labels": {"zone_name": "a"},
        "start_time_ms": 1796052615690,
        "end_time_ms": 0,
    }


def test_a_dead_node_says_why_and_keeps_everything_else() -> None:
    found = row(fold([definition(), alive(), dead()]))

    assert (found["state"], found["end_time_ms"]) == ("DEAD", 1796053200500)
    assert found["state_message"] == "Unexpected termination: no heartbeat"
    assert (found["node_name"], found["resources_total"]) == ("node-1", HEAD)


def test_draining_is_no_second_life_and_takes_no_resources_away() -> None:
    """The event of a drain has no resources, and may arrive after that of the death."""
    draining = lifecycle("ALIVE", "2026-11-30T15:39:00Z", aliveSubState="DRAINING", resources={})

    assert row(fold([definition(), alive(), draining]))["resources_total"] == HEAD
    assert row(fold([definition(), dead(), draining, alive()]))["state"] == "DEAD"


def test_an_empty_field_never_blanks_a_known_one() -> None:
    blank = definition("2026-11-30T15:35:00Z", hostname="", nodeName="", nodeIpAddress="", labels={})
    folded = fold([definition(), blank])

    assert (row(folded)["node_ip"], row(folded)["labels"]) == ("10.0.0.1", {"zone_name": "a"})
    assert folded.documents("node.summary")[NODE]["hostname"] == "host-1"


def test_a_node_that_outlived_its_cluster_keeps_its_logs_within_a_click() -> None:
    """The dashboard's log page lists nodes that are ALIVE, no others; the state API says what is."""
    folded = fold([definition(), alive()], end=ENDED)
    raylet = folded.documents("node.summary")[NODE]["raylet"]

    assert raylet["state"] == "ALIVE"
    assert (
        raylet["stateMessage"] == "The cluster ended at 2026-11-30 17:33:20 UTC. The cluster was shut down."
    )
    assert (row(folded)["state"], row(folded)["end_time_ms"]) == ("DEAD", ENDED.at_ms)
    assert row(folded)["state_message"] == raylet["stateMessage"]


def test_a_node_that_died_earlier_is_dead_on_every_page() -> None:
    folded = fold([definition(), alive(), dead()], end=ENDED)
    raylet = folded.documents("node.detail")[NODE]["raylet"]

    assert (raylet["state"], raylet["endTimeMs"]) == ("DEAD", "1796053200500")
    assert raylet["deathInfo"] == {"reason": "UNEXPECTED_TERMINATION", "reasonMessage": "no heartbeat"}
    assert row(folded)["end_time_ms"] == 1796053200500


@pytest.mark.parametrize("kind", ["node.summary", "node.detail"])
def test_the_pages_find_every_value_they_call_methods_on(kind: str) -> None:
    """Without any answer of the dashboard; `pages/node/*.tsx` of Ray 2.60 fails on anything else."""
    folded = fold([definition(), alive()])
    document = folded.documents(kind)[NODE]

    assert all(isinstance(part, list) for part in document["loadAvg"])
    assert len(document["networkSpeed"]) == len(document["cpus"]) == 2
    assert document["mem"] is None or len(document["mem"]) == 4
    assert isinstance(document["cmdline"], list)
    assert isinstance(document["disk"], dict)
    assert isinstance(document["raylet"]["labels"], dict)
    assert document["gpus"] == document["tpus"] == []
    assert isinstance(document["bootTime"] + document["cpu"], int)
    assert document["raylet"]["objectStoreUsedMemory"] + document["raylet"]["objectStoreAvailableMemory"] == 0
    if kind == "node.detail":
        assert (document["actors"], document["workers"]) == ({}, [])
    assert any("hardware use of 1 of 1 nodes" in problem for problem in folded.problems)


def test_the_dashboard_spells_resources_and_labels_its_own_way() -> None:
    raylet = fold([definition(), alive()]).documents("node.summary")[NODE]["raylet"]

    assert raylet["resourcesTotal"] == {"node:InternalHead": 1.0, "CPU": 4.0, "objectStoreMemory": 100.0}
    assert raylet["labels"] == {"zoneName": "a"}


def test_hardware_is_as_last_reported_and_the_rest_as_last_alive() -> None:
    """A dead node's element has fresher statistics for a while, then none, and no ports."""
    died = element("DEAD", now=1796052800.0, cpu=50.0)
    died["raylet"] |= {"nodeManagerPort": 0, "objectStoreUsedMemory": 7}
    forgotten = {"raylet": {"nodeId": NODE, "state": "DEAD", "stateMessage": None}}
    answers = [
        summaries(died, at_ms=2000),
        summaries(forgotten, at_ms=3000),
        summaries(element(), at_ms=1000),
    ]
    document = fold([definition(), alive(), dead()], answers=answers).documents("node.summary")[NODE]

    assert (document["cpu"], document["raylet"]["objectStoreUsedMemory"]) == (50.0, 7)
    assert (document["raylet"]["nodeManagerPort"], document["raylet"]["state"]) == (4711, "DEAD")


def test_a_node_is_known_from_answers_alone() -> None:
    """From the list of the state API, and from the cluster page where that was not recorded."""
    state = {"node_id": NODE, "node_ip": "10.0.0.9", "state": "ALIVE", "resources_total": {"CPU": 1.0}}
    shown = element()
    shown["raylet"] |= {"resourcesTotal": {"objectStoreMemory": 9.0}, "startTimeMs": "1796052615690"}

    assert row(fold([], answers=[listed("nodes", [state])]))["resources_total"] == {"CPU": 1.0}
    found = row(fold([], answers=[summaries(shown, at_ms=1000)]))
    assert (found["resources_total"], found["start_time_ms"]) == ({"object_store_memory": 9.0}, 1796052615690)


def test_a_death_that_only_the_dashboard_saw_counts() -> None:
    """The event of it may be lost with the head's agent."""
    gone = {"raylet": {"nodeId": NODE, "state": "DEAD", "endTimeMs": "1796053200500", "stateMessage": "gone"}}
    answers = [summaries(element(), at_ms=1000), summaries(gone, at_ms=2000)]
    found = row(fold([definition(), alive()], answers=answers))

    assert (found["state"], found["end_time_ms"], found["state_message"]) == ("DEAD", 1796053200500, "gone")


def test_a_node_that_left_only_a_manifest_or_log_files_is_listed() -> None:
    manifests = {NODE: NodeManifest(node_id=NODE, ip="10.0.0.7", hostname="h", role="head", start_ms=5)}
    folded = fold([], manifests=manifests, recorded_nodes=[OTHER], end=ENDED)

    assert (row(folded)["node_ip"], row(folded)["is_head_node"], row(folded)["start_time_ms"]) == (
        "10.0.0.7",
        True,
        5,
    )
    assert folded.documents("node.summary")[OTHER]["raylet"]["state"] == "ALIVE"


def test_the_marker_knows_the_head() -> None:
    assert row(fold([definition()], marker=SessionMarker(head_node=NODE)))["is_head_node"] is True


@pytest.mark.parametrize(
    "body", [[], {"data": {"summary": "x"}}, {"data": {"summary": [{"raylet": {"nodeId": 7}}]}}]
)
def test_an_answer_of_another_shape_costs_that_answer(body: object) -> None:
    folded = fold([definition(), alive()], answers=[answer(SUMMARY, body)])

    assert row(folded)["node_name"] == "node-1"
    assert [one for one in folded.problems if SUMMARY in one] == [
        f"A recorded answer of {SUMMARY} is not what the dashboard answers; it was left out."
    ]


def test_processes_are_listed_though_no_answer_shows_their_hardware() -> None:
    """Those that lived as long as their node."""
    worker = "ee" * 28
    events = [
        definition(),
        alive(),
        event("WORKER_DEFINITION_EVENT", workerId=in_base64(worker), nodeId=in_base64(NODE), pid=42),
    ]
    [process] = fold(events, end=ENDED).documents("node.detail")[NODE]["workers"]

    assert (process["pid"], process["coreWorkerStats"][0]["workerId"]) == (42, worker)
    assert process["coreWorkerStats"][0]["ipAddress"] == "10.0.0.1"
