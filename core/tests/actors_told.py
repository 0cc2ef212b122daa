"""An actor's life as events and answers tell it."""

from __future__ import annotations

from typing import Any

from rayhist.ids import IdKind, nil_id
from rayhist.resources import ACTORS
from rayhist_testkit.folding import Folded, answer, event, in_base64

ACTOR = "ca4b250947275724ba6cbda2" + "01000000"
NODE, OTHER_NODE = "ab" * 28, "cd" * 28
WORKER, OTHER_WORKER = "ee" * 28, "dd" * 28
GROUP = "f658b4d92bcd6e314c96c4d4a3a601000000"
NO_ADDRESS = {
    "nodeId": nil_id(IdKind.NODE),
    "workerId": nil_id(IdKind.WORKER),
    "ipAddress": "",
    "port": 0,
}
BLANK = {"nodeId": "", "workerId": "", "pid": 0, "port": 0, "reprName": "", "restartReason": "ACTOR_FAILURE"}
BOOM = {"formatted_exception_string": "boom", "serialized_exception": "g"}
KILLED = {"actorDiedErrorContext": {"errorMessage": "killed", "actorId": in_base64(ACTOR), "pid": 42}}


def second(at: int) -> str:
    return f"2026-11-30T15:31:{at:02}Z"


def ms(at: int) -> int:
    return 1796052660000 + at * 1000


def definition(at: str = second(0), **fields: object) -> dict[str, Any]:
    known = {
        "actorId": in_base64(ACTOR),
        "jobId": in_base64("01000000"),
        "className": "Counter",
        "name": "c",
        "rayNamespace": "ns",
        "serializedRuntimeEnv": "{}",
        "requiredResources": {"CPU": 0.1},
    }
    return event("ACTOR_DEFINITION_EVENT", at, **(known | fields))


def state(name: str, at: int, **fields: object) -> dict[str, Any]:
    return BLANK | {"state": name, "timestamp": second(at)} | fields


def alive(at: int, worker: str = WORKER, node: str = NODE, **fields: object) -> dict[str, Any]:
    known = {"workerId": in_base64(worker), "nodeId": in_base64(node), "pid": 42, "port": 4711}
    return state("ALIVE", at, **(known | fields))


def lifecycle(*transitions: dict[str, Any]) -> dict[str, Any]:
    return event("ACTOR_LIFECYCLE_EVENT", actorId=in_base64(ACTOR), stateTransitions=list(transitions))


def shown(state: str, at_ms: int, **fields: object) -> dict[str, Any]:
    """The actor as `/logical/actors` shows it."""
    known = {
        "actorId": ACTOR,
        "jobId": "01000000",
        "state": state,
        "className": "Counter",
        "timestamp": float(at_ms),
        "address": {"nodeId": NODE, "workerId": WORKER, "ipAddress": "10.0.0.1", "port": 4711},
        "pid": 42,
        "numRestarts": "0",
        "exitDetail": "-",
        "processStats": {"pid": 42, "cpuPercent": 1.5},
        "mem": [4, 3, 2, 1],
        "gpus": [],
        "numExecutedTasks": 9,
    }
    return known | fields


def logical(*actors: dict[str, Any]) -> Any:
    return answer("/logical/actors", {"data": {"actors": {one["actorId"]: one for one in actors}}})


def document(folded: Folded) -> Any:
    return folded.documents("actor")[ACTOR]


def row(folded: Folded) -> dict[str, Any]:
    [found] = folded.rows(ACTORS)
    return found
