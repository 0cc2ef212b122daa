"""Which log files a node has, by Ray's categories: `/api/v0/logs`.

Rules: `LogsManager._categorize_log_files` and `LogAgentV1Grpc.ListLogs` of `ray.dashboard.modules.log`,
Ray 2.60.
"""

from __future__ import annotations

from collections.abc import Iterable

from rayhist.index import Index
from rayhist.logs import globs
from rayhist.logs.error import LogError, clipped
from rayhist.logs.nodes import find_node
from rayhist.logs.request import BAD_REQUEST

_MAX_GLOB = 1024


def list_files(
    index: Index, *, node_id: str = "", node_ip: str = "", glob: str = "*"
) -> dict[str, list[str]]:
    """Category → paths below `logs/`, folders with a `/` behind, sorted.  Raises `LogError`."""
    _check(glob)
    node = find_node(index, node_id, node_ip)
    return categorized(globs.matching((file.path for file in index.log_files(node)), glob))


def categorized(paths: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in paths:
        found.setdefault(_category(path), []).append(path)
    return found


def _category(path: str) -> str:
    if "worker" in path and path.endswith(".out"):
        return "worker_out"
    if "worker" in path and path.endswith(".err"):
        return "worker_err"
    if "core-worker" in path and path.endswith(".log"):
        return "core_worker"
    if "core-driver" in path and path.endswith(".log"):
        return "driver"
    for mark, category in _MARKS:
        if mark in path:
            return category
    return "internal"


_MARKS = (
    ("raylet.", "raylet"),
    ("gcs_server.", "gcs_server"),
    ("log_monitor", "internal"),
    ("monitor", "autoscaler"),
    ("agent.", "agent"),
    ("dashboard.", "dashboard"),
)


def _check(glob: str) -> None:
    parts = glob.split("/")
    if not glob.strip("./") or glob.startswith("/") or ".." in parts or "\0" in glob or len(glob) > _MAX_GLOB:
        raise LogError(
            f"Invalid glob filter: {clipped(glob)}. It must be a relative path and cannot contain '..'.",
            status=BAD_REQUEST,
        )
