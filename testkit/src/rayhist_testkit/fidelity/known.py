"""What there is to ask about: as the live dashboard lists it, and as the workload's ledger names it."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from rayhist_testkit.cluster.dashboard import Dashboard
from rayhist_testkit.demo.ledger import Ledger

_ASSET = re.compile(r"static/[\w./-]+\.(?:js|css)")


class Node(msgspec.Struct):
    id: str
    ip: str
    alive: bool
    log_files: list[str] = []
    """Paths below `logs/` of the files directly in it."""


class Known(msgspec.Struct):
    """Ids in hex, as the dashboard spells them."""

    nodes: list[Node]
    actors: list[str]
    groups: list[str]
    workers: list[tuple[str, int]]
    """Node id and pid of worker processes that live."""
    jobs: list[str]
    submissions: list[str]
    tasks: dict[str, str]
    """By the ledger's label."""
    named_actors: dict[str, str]
    """By the ledger's label."""
    assets: list[str]
    """Paths of the frontend's static files."""

    @property
    def head(self) -> Node:
        return self.nodes[0]

    @property
    def alive(self) -> list[Node]:
        return [node for node in self.nodes if node.alive]


def look_around(dashboard: Dashboard, ledger: Ledger) -> Known:
    """Ask the live dashboard what it has."""
    jobs = dashboard.json("api/jobs/")
    workers = dashboard.rows("workers")
    return Known(
        nodes=_nodes(dashboard),
        actors=sorted(dashboard.json("logical/actors", nocache=1)["data"]["actors"]),
        groups=sorted(row["placement_group_id"] for row in dashboard.rows("placement_groups")),
        workers=sorted((row["node_id"], row["pid"]) for row in workers if row["is_alive"]),
        jobs=sorted(job["job_id"] for job in jobs if job["job_id"]),
        submissions=sorted(job["submission_id"] for job in jobs if job["submission_id"]),
        tasks={label: task.id for label, task in ledger.tasks.items()},
        named_actors={label: actor.id for label, actor in ledger.actors.items()},
        assets=sorted(set(_ASSET.findall(dashboard.raw("").decode()))),
    )


def _nodes(dashboard: Dashboard) -> list[Node]:
    """All nodes, the head first."""
    raylets = [node["raylet"] for node in _summary(dashboard)]
    raylets.sort(key=lambda raylet: (not raylet.get("isHeadNode"), raylet["nodeId"]))
    return [_node(dashboard, raylet) for raylet in raylets]


def _summary(dashboard: Dashboard) -> list[dict[str, Any]]:
    summary: list[dict[str, Any]] = dashboard.json("nodes", view="summary", nocache=1)["data"]["summary"]
    return summary


def _node(dashboard: Dashboard, raylet: dict[str, Any]) -> Node:
    node = Node(raylet["nodeId"], raylet.get("nodeManagerAddress", ""), raylet["state"] == "ALIVE")
    if node.alive:
        groups = dashboard.json("api/v0/logs", node_id=node.id)["data"]["result"]
        node.log_files = sorted(
            {name for names in groups.values() for name in names if not name.endswith("/")}
        )
    return node
