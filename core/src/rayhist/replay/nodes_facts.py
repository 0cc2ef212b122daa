"""What is known about one node, whoever said it, in one form."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from rayhist.events import Int64, NodeDefinition, NodeTransition, timestamp_ns
from rayhist.manifest import NodeManifest
from rayhist.replay.merging import MS, Definitions, Transitions, as_shown

_STATES = ("ALIVE", "DEAD")
_HEAD_RESOURCE = "node:__internal_head__"
# The two names of Ray's own that the dashboard's camelCase changes.
_RESOURCE_NAMES = {"objectStoreMemory": "object_store_memory", "node:InternalHead": _HEAD_RESOURCE}
_REASONS = {
    "EXPECTED_TERMINATION": "Expected termination",
    "UNEXPECTED_TERMINATION": "Unexpected termination",
    "AUTOSCALER_DRAIN_PREEMPTED": "Terminated due to preemption",
    "AUTOSCALER_DRAIN_IDLE": "Terminated due to idle (no Ray activity)",
}
"""`compose_state_message` in `ray.dashboard.utils` of Ray 2.60."""


class NodeFacts(msgspec.Struct):
    """Times are epoch milliseconds, 0 if unknown; an empty state is unknown as well."""

    node_id: str = ""
    ip: str = ""
    hostname: str = ""
    name: str = ""
    is_head: bool = False
    state: str = ""
    message: str | None = None
    reason: str = ""
    reason_message: str = ""
    resources: dict[str, float] = {}
    labels: dict[str, str] = {}
    start_ms: Int64 = 0
    end_ms: Int64 = 0
    instance_id: str = ""
    instance_type: str = ""


_TYPES = {field.name: field.type for field in msgspec.structs.fields(NodeFacts)}


def merged(node: str, sources: Iterable[NodeFacts], head_node: str) -> NodeFacts:
    """The first source that says something counts, field by field; but a node that once died is dead."""
    facts = NodeFacts()
    dead = False
    for source in sources:
        dead = dead or source.state == "DEAD"
        for name in _TYPES:
            if not getattr(facts, name):
                setattr(facts, name, getattr(source, name))
        facts.start_ms = as_shown(facts.start_ms, source.start_ms)
        facts.end_ms = as_shown(facts.end_ms, source.end_ms)
    facts.node_id = node
    facts.is_head = facts.is_head or node == head_node
    facts.state = "DEAD" if dead else "ALIVE"
    return facts


def of_events(
    definitions: Definitions[NodeDefinition], transitions: Transitions[NodeTransition]
) -> NodeFacts:
    facts = NodeFacts()
    if (said := definitions.merged()) is not None:
        facts.ip = said.node_ip_address
        facts.hostname = said.hostname
        facts.name = said.node_name
        facts.labels = said.labels
        facts.instance_id = said.instance_id
        facts.instance_type = said.instance_type_name
        facts.start_ms = timestamp_ns(said.start_timestamp) // MS if said.start_timestamp else 0
    for at_ms, one in transitions.ordered(_STATES):
        facts.resources = one.resources or facts.resources
        facts.state = "DEAD" if "DEAD" in (one.state, facts.state) else one.state
        if one.state == "DEAD":
            facts.end_ms = facts.end_ms or at_ms
            death = one.death_info
            facts.reason = death.reason if death else facts.reason
            facts.reason_message = death.reason_message if death else facts.reason_message
        else:
            facts.start_ms = facts.start_ms or at_ms
    facts.message = state_message(facts.reason, facts.reason_message)
    facts.is_head = _HEAD_RESOURCE in facts.resources
    return facts


def state_message(reason: str, message: str) -> str | None:
    """Ray's sentence about a node's death."""
    return ": ".join(filter(None, (_REASONS.get(reason), message))) or None


def of_row(row: dict[str, Any]) -> NodeFacts:
    """From a row of `/api/v0/nodes`."""
    return _believed(
        ip=row.get("node_ip"),
        name=row.get("node_name"),
        is_head=row.get("is_head_node"),
        state=row.get("state"),
        message=row.get("state_message"),
        resources=row.get("resources_total"),
        labels=row.get("labels"),
        start_ms=row.get("start_time_ms"),
        end_ms=row.get("end_time_ms"),
    )


def of_raylet(raylet: dict[str, Any]) -> NodeFacts:
    """From the `raylet` part of `/nodes`; a dead node's has lost most of it."""
    death, resources = _mapping(raylet.get("deathInfo")), _mapping(raylet.get("resourcesTotal"))
    return _believed(
        ip=raylet.get("nodeManagerAddress"),
        hostname=raylet.get("nodeManagerHostname"),
        name=raylet.get("nodeName"),
        is_head=raylet.get("isHeadNode"),
        state=raylet.get("state"),
        message=raylet.get("stateMessage"),
        reason=death.get("reason"),
        reason_message=death.get("reasonMessage"),
        resources={_RESOURCE_NAMES.get(name, name): amount for name, amount in resources.items()},
        labels=raylet.get("labels"),
        start_ms=raylet.get("startTimeMs"),
        end_ms=raylet.get("endTimeMs"),
        instance_id=raylet.get("instanceId"),
        instance_type=raylet.get("instanceTypeName"),
    )


def of_summary(element: dict[str, Any]) -> NodeFacts:
    """From one element of `/nodes?view=summary`, or from the detail of `/nodes/<id>`."""
    facts = of_raylet(_mapping(element.get("raylet")))
    above = _believed(ip=element.get("ip"), hostname=element.get("hostname"))
    facts.ip = facts.ip or above.ip
    facts.hostname = facts.hostname or above.hostname
    return facts


def of_manifest(manifest: NodeManifest | None) -> NodeFacts:
    if manifest is None:
        return NodeFacts()
    return NodeFacts(
        ip=manifest.ip,
        hostname=manifest.hostname,
        is_head=manifest.role == "head",
        start_ms=manifest.start_ms,
    )


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _believed(**fields: Any) -> NodeFacts:
    """Facts out of an answer's values; what has the wrong type says nothing."""
    facts = NodeFacts()
    for name, value in fields.items():
        try:
            setattr(facts, name, msgspec.convert(value, _TYPES[name], strict=False))
        except msgspec.ValidationError:
            continue
    return facts
