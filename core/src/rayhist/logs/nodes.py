"""Which node is meant, by id or by IP address."""

from __future__ import annotations

import msgspec

from rayhist.ids import IdKind
from rayhist.index import Index
from rayhist.logs.error import LogError, clipped
from rayhist.logs.request import BAD_REQUEST, checked_id
from rayhist.query import Filter, Query, run
from rayhist.resources import NODES

_NOT_FOUND = 404


def find_node(index: Index, node_id: str, node_ip: str) -> str:
    """The id of a node that has logs, in lower-case hex.  Raises `LogError`."""
    node = named_node(index, node_id, node_ip)
    require_logs(index, node)
    return node


def named_node(index: Index, node_id: str, node_ip: str) -> str:
    """The id of the node that is meant, in lower-case hex, whatever is known of it.  Raises `LogError`."""
    if not node_id and not node_ip:
        raise LogError(
            "Both node id and node ip are not provided. Please provide at least one of them.",
            status=BAD_REQUEST,
        )
    return checked_id(IdKind.NODE, node_id) if node_id else _by_ip(index, node_ip)


def require_logs(index: Index, node: str) -> None:
    """Raise `LogError` unless logs of that node were recorded."""
    if has_logs(index, node):
        return
    if _rows(index, "node_id", node):
        raise LogError(
            f"No logs of node {node} were recorded.",
            status=_NOT_FOUND,
            remedy="run a collector beside every node of the cluster",
        )
    raise LogError(f"Agent for node id: {node} doesn't exist.")


def has_logs(index: Index, node: str) -> bool:
    found = index.database.execute("SELECT 1 FROM log_files WHERE node = ? LIMIT 1", (node,))
    return found.fetchone() is not None


def _by_ip(index: Index, node_ip: str) -> str:
    """The node with that address: one that is alive, or else the one that began last."""
    rows = _rows(index, "node_ip", node_ip)
    if not rows:
        raise LogError(
            f"Cannot find matching node_id for a given node ip {clipped(node_ip)}", status=_NOT_FOUND
        )
    return max(rows, key=_preference).node_id


class _Node(msgspec.Struct):
    node_id: str
    state: str | None = None
    start_time_ms: float | None = None


def _preference(node: _Node) -> tuple[bool, float]:
    return node.state == "ALIVE", node.start_time_ms or 0


def _rows(index: Index, column: str, value: str) -> list[_Node]:
    page = run(index, NODES, Query(filters=(Filter(column, "=", value),), detail=True))
    return [msgspec.json.decode(row, type=_Node) for row in page.rows]
