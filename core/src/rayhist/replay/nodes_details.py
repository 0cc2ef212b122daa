"""The page of one node: what it is, its actors, and its worker processes."""

from __future__ import annotations

from typing import Any

import msgspec

from rayhist.events import Event
from rayhist.index import IndexWriter
from rayhist.replay import nodes_documents
from rayhist.replay.actors import ActorFold
from rayhist.replay.context import Context
from rayhist.replay.fold import Fold
from rayhist.replay.nodes import NodeFold


class NodeDetailFold(Fold):
    """Writes the nodes' details; it comes after the nodes, workers and actors."""

    types = frozenset()

    def __init__(self, nodes: NodeFold, actors: ActorFold) -> None:
        self._nodes = nodes
        self._actors = actors

    def add(self, event: Event) -> None:
        """No event is of interest."""

    def write(self, context: Context, writer: IndexWriter) -> None:
        workers: dict[str, list[dict[str, Any]]] = {}
        for row in context.workers.values():
            if row["node_id"] and _at_the_end(row, context):
                workers.setdefault(row["node_id"], []).append(_process(row))
        for node, facts in self._nodes.facts.items():
            actors = {one: _written(writer, one) for one in self._actors.on_node(node)}
            detail = nodes_documents.detail(facts, context, actors, workers.get(node, []))
            writer.document("node.detail", node, detail)


def _at_the_end(row: dict[str, Any], context: Context) -> bool:
    """Whether the process lived as long as its node."""
    node = context.node_states.get(row["node_id"], {})
    return bool(row["is_alive"]) or row["end_time_ms"] == node.get("end_time_ms")


def _written(writer: IndexWriter, actor_id: str) -> Any:
    body = writer.written("actor", actor_id)
    assert body is not None  # the actor fold named it
    return msgspec.json.decode(body)


def _process(row: dict[str, Any]) -> dict[str, Any]:
    """A worker process as the page lists it, without the use of hardware, which is unknown."""
    worker = {
        "workerId": row["worker_id"],
        "pid": row["pid"],
        "ipAddress": row["ip"] or "",
        "language": "PYTHON",
        "workerType": row["worker_type"],
    }
    return {
        "pid": row["pid"],
        "createTime": row["start_time_ms"] / 1000,
        "cpuPercent": 0,
        "cpuTimes": {},
        "cmdline": [],
        "memoryInfo": {"rss": 0, "vms": 0},
        "coreWorkerStats": [worker],
        "language": "PYTHON",
    }
