"""What a replayed session holds, in one line."""

from __future__ import annotations

from rayhist_testkit.cluster.dashboard import Dashboard


def figures(dashboard: Dashboard, mismatches: int) -> str:
    """`demo: 3 nodes, 8 jobs, …`.  Raises what the dashboard raises."""
    nodes = dashboard.json("nodes", view="summary")["data"]["summary"]
    files = sum(_log_files(dashboard, node["raylet"]["nodeId"]) for node in nodes)
    tasks = {row["task_id"] for row in dashboard.rows("tasks")}
    actors = dashboard.json("logical/actors")["data"]["actors"]
    return (
        f"demo: {len(nodes)} nodes, {len(dashboard.json('api/jobs/'))} jobs, {len(tasks)} tasks, "
        f"{len(actors)} actors, {files} log files replayed, {mismatches} mismatches"
    )


def _log_files(dashboard: Dashboard, node: str, folder: str = "") -> int:
    """Files below `folder` of the node's logs; folders are listed with a `/` at their end."""
    groups = dashboard.json("api/v0/logs", node_id=node, glob=f"{folder}*")["data"]["result"]
    names = {name for names in groups.values() for name in names}
    below = [name for name in names if name.endswith("/")]
    return len(names) - len(below) + sum(_log_files(dashboard, node, name) for name in below)
