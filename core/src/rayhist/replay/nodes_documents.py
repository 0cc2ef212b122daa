"""The nodes as the dashboard's pages read them: `/nodes?view=summary` and `/nodes/<id>`."""

from __future__ import annotations

from typing import Any

from rayhist.google_style import google_style
from rayhist.replay.context import Context
from rayhist.replay.nodes_facts import NodeFacts
from rayhist.replay.status import ended

_NO_HARDWARE: dict[str, Any] = {
    "now": 0,
    "hostname": "",
    "ip": "",
    "cpu": 0,
    "cpus": [0, 0],
    "mem": None,
    "shm": None,
    "bootTime": 0,
    "loadAvg": [[], []],
    "disk": {},
    "diskIo": [0, 0, 0, 0],
    "diskIoSpeed": [0, 0, 0, 0],
    "gpus": [],
    "tpus": [],
    "network": [0, 0],
    "networkSpeed": [0, 0],
    "cmdline": [],
    "agent": {},
    "gcs": None,
}
"""What stands where nothing is known; the pages call methods on these, so they must have the right shape."""
_NO_RAYLET: dict[str, Any] = {
    "objectStoreUsedMemory": 0,
    "objectStoreAvailableMemory": 0,
    "nodeManagerPort": 0,
    "objectManagerPort": 0,
    "metricsExportPort": 0,
    "nodeTypeName": "",
}


def summary(facts: NodeFacts, context: Context) -> dict[str, Any]:
    """One element of `data.summary`: hardware as last seen while the node lived, everything else as known."""
    return _filled(facts, context.answers.nodes.summary(facts.node_id), context)


def detail(
    facts: NodeFacts, context: Context, actors: dict[str, Any], workers: list[dict[str, Any]]
) -> dict[str, Any]:
    """`data.detail`; `workers` are shown only if none were recorded."""
    seen = context.answers.nodes.detail(facts.node_id)
    base = seen or context.answers.nodes.summary(facts.node_id)
    document = _filled(facts, base, context)
    document["actors"] = google_style(actors)
    document["workers"] = seen.get("workers") or workers
    document["raylet"].pop("coreWorkersStats", None)
    return document


def _filled(facts: NodeFacts, seen: dict[str, Any], context: Context) -> dict[str, Any]:
    document = _NO_HARDWARE | seen
    document["hostname"] = facts.hostname or document["hostname"]
    document["ip"] = facts.ip or document["ip"]
    document["raylet"] = _NO_RAYLET | (seen.get("raylet") or {}) | _raylet(facts, context)
    return document


def _raylet(facts: NodeFacts, context: Context) -> dict[str, Any]:
    """The part that says what the node is.

    A node that was alive when its cluster ended stays `ALIVE` here: the dashboard's log page lists only nodes
    in that state, and its cluster page links to the logs of no other.
    """
    part: dict[str, Any] = {
        "nodeId": facts.node_id,
        "nodeManagerAddress": facts.ip,
        "nodeManagerHostname": facts.hostname,
        "nodeName": facts.name,
        "isHeadNode": facts.is_head,
        "resourcesTotal": google_style(facts.resources),
        "labels": google_style(facts.labels),
        "startTimeMs": str(facts.start_ms),
        "endTimeMs": str(facts.end_ms),
        "instanceId": facts.instance_id,
        "instanceTypeName": facts.instance_type,
        "state": facts.state,
        "stateMessage": facts.message,
    }
    if facts.state == "ALIVE" and context.end.ended:
        part["stateMessage"] = ended(context.end)
    if facts.reason:
        part["deathInfo"] = {"reason": facts.reason, "reasonMessage": facts.reason_message}
    return part
