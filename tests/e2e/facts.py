"""The ids that the pages' addresses need, asked from the dashboard itself."""

from __future__ import annotations

from dataclasses import dataclass

from rayhist_testkit.cluster.dashboard import Dashboard
from rayhist_testkit.demo.ledger import Ledger


@dataclass(frozen=True)
class Facts:
    ledger: Ledger
    head: str
    """Node id of the head."""
    nodes: list[str]
    proxy: str
    """Node id of the Serve proxy, which is its id in addresses."""
    replica: str
    """Id of the replica of `Front` of the healthy application."""
    driver_node: str
    """Node id of the submitted jobs' drivers."""
    ray_version: str
    actors: int
    """How many actors there were, the libraries' own included."""
    first_tasks: list[str]
    """The workload's first task ids in the order of the task table."""


def gather(dashboard: Dashboard, ledger: Ledger) -> Facts:
    nodes = dashboard.json("nodes", view="summary", nocache=1)["data"]["summary"]
    [head] = [node["raylet"]["nodeId"] for node in nodes if node["raylet"].get("isHeadNode")]
    serve = dashboard.json("api/serve/applications/")
    [front] = serve["applications"]["healthy"]["deployments"]["Front"]["replicas"]
    jobs = dashboard.json("api/jobs/")
    [driver_node] = {
        job["driver_node_id"] for job in jobs if job["submission_id"] == ledger.jobs["succeeded"].id
    }
    return Facts(
        ledger=ledger,
        head=head,
        nodes=[node["raylet"]["nodeId"] for node in nodes],
        proxy=next(iter(serve["proxies"])),
        replica=front["replica_id"],
        driver_node=driver_node,
        ray_version=dashboard.json("api/version")["ray_version"],
        actors=len(dashboard.json("logical/actors")["data"]["actors"]),
        first_tasks=sorted({row["task_id"] for row in dashboard.rows("tasks", job_id=ledger.driver_job)})[:5],
    )
