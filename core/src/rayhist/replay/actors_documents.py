"""An actor as the state API and the dashboard's pages read it."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from rayhist.ids import IdKind, nil_id
from rayhist.replay.actors_facts import ActorFacts
from rayhist.replay.actors_polled import Address, Polled
from rayhist.replay.context import Context

_INDEXED = re.compile(r"(.+)_group_(\d+)_([0-9a-zA-Z]+)")
_WILDCARD = re.compile(r"(.+)_group_([0-9a-zA-Z]+)")
"""Resources of placement groups: `parse_pg_formatted_resources_to_original` of Ray 2.60."""
_NOWHERE = Address(nil_id(IdKind.NODE), worker_id=nil_id(IdKind.WORKER))
_NO_PROCESS: dict[str, Any] = {"gpus": [], "processStats": None, "mem": [], "tpus": []}


def row(facts: ActorFacts) -> dict[str, Any]:
    """A row of `/api/v0/actors`, all columns."""
    identity, life = facts.identity, facts.life
    return {
        "actor_id": facts.actor_id,
        "class_name": identity.class_name,
        "state": life.state,
        "job_id": identity.job_id,
        "name": identity.name,
        "node_id": facts.process.node_id or None,
        "pid": facts.pid,
        "ray_namespace": identity.namespace,
        "serialized_runtime_env": identity.runtime_env,
        "required_resources": identity.resources,
        "death_cause": facts.death_cause,
        "is_detached": identity.is_detached,
        "placement_group_id": identity.placement_group_id or None,
        "repr_name": identity.repr_name,
        "num_restarts": str(life.restarts),
        "num_restarts_due_to_lineage_reconstruction": str(life.lineage_restarts),
        "num_restarts_due_to_node_preemption": str(life.preemption_restarts),
        "call_site": identity.call_site or None,
        "label_selector": identity.label_selector,
        "fallback_strategy": None,
    }


def document(facts: ActorFacts, seen: Polled, context: Context, *, alive: bool) -> dict[str, Any]:
    """One value of `data.actors` of `/logical/actors`.

    `alive`: whether the actor lived as long as its cluster; only then its process is of interest, as live.
    """
    identity, life = facts.identity, facts.life
    made: dict[str, Any] = {
        "actorId": facts.actor_id,
        "jobId": identity.job_id,
        "address": _address(facts, context),
        "name": identity.name,
        "className": identity.class_name,
        "labelSelector": identity.label_selector,
        "state": life.state,
        "numRestarts": str(life.restarts),
        "timestamp": float(life.changed_ms),
        "pid": facts.pid,
        "startTime": life.start_ms,
        "endTime": life.end_ms,
        "reprName": identity.repr_name,
        "actorClass": identity.class_name,
        "exitDetail": facts.exit_detail,
        "requiredResources": _own(identity.resources),
    }
    if identity.placement_group_id:
        made["placementGroupId"] = identity.placement_group_id
    if identity.call_site:
        made["callSite"] = identity.call_site
    return made | _NO_PROCESS | _process(facts, seen, alive=alive)


def workers(facts: ActorFacts) -> list[dict[str, Any]]:
    """The processes that hosted the actor, latest first."""
    return [
        {"worker_id": one.worker_id, "pid": one.pid, "node_id": one.node_id}
        for one in reversed(facts.life.processes)
    ]


def _address(facts: ActorFacts, context: Context) -> dict[str, Any]:
    if not facts.life.placed:
        address: dict[str, Any] = msgspec.to_builtins(facts.leased.address if facts.leased else _NOWHERE)
        return address
    process = facts.process
    node = context.node_states.get(process.node_id, {})
    worker = context.workers.get(process.worker_id, {})
    return {
        "nodeId": process.node_id,
        "ipAddress": node.get("node_ip") or worker.get("ip") or "",
        "port": process.port,
        "workerId": process.worker_id,
    }


def _process(facts: ActorFacts, seen: Polled, *, alive: bool) -> dict[str, Any]:
    if seen.shown is None:
        return {}
    if alive and seen.shown.address.worker_id == facts.process.worker_id:
        return seen.process
    return {name: seen.process[name] for name in ("mem",) if name in seen.process}


def _own(resources: dict[str, float]) -> dict[str, float]:
    """The resources as asked for, out of the names that a placement group gives them."""
    found = {}
    for name, amount in resources.items():
        match = _INDEXED.match(name) or _WILDCARD.match(name)
        if match is None:
            found[name] = amount
        elif match[1] != "bundle":
            found[match[1]] = amount
    return found
