"""Every page of the dashboard's frontend (its routes as of Ray 2.60), and what each must show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from e2e.facts import Facts

Shown = Callable[[Facts], list[str]]


@dataclass(frozen=True)
class PageOf:
    """A page: the name of its screenshot, its address below `#/`, and texts that must be visible on it."""

    name: str
    address: Callable[[Facts], str]
    shows: Shown


def _job(facts: Facts, label: str) -> str:
    return facts.ledger.jobs[label].id


PAGES = [
    PageOf(
        "overview",
        lambda facts: "overview",
        lambda facts: [
            "Recent jobs",
            _job(facts, "running"),
            "Front",
            "Node Status",
            facts.head,
            "AUTOSCALER",
        ],
    ),
    PageOf(
        "jobs",
        lambda facts: "jobs",
        lambda facts: [
            *(job.id for job in facts.ledger.jobs.values()),
            *("SUCCEEDED", "FAILED", "STOPPED", "Job was intentionally stopped."),
            "Job entrypoint command failed with exit code 1",
        ],
    ),
    PageOf(
        "job-submitted",
        lambda facts: f"jobs/{_job(facts, 'succeeded')}",
        lambda facts: [
            *(_job(facts, "succeeded"), "SUCCEEDED", "Finished: 3", "submitted: grüß dich"),
            *('"team": "demo"', "Node Status"),
        ],
    ),
    PageOf(
        "job-failed",
        lambda facts: f"jobs/{_job(facts, 'failed')}",
        lambda facts: [_job(facts, "failed"), "FAILED", "Finished: 3", "ValueError: the job failed"],
    ),
    PageOf(
        "job-driver",
        lambda facts: f"jobs/{facts.ledger.driver_job}",
        lambda facts: [
            facts.ledger.driver_job,
            f"Total: {sum(facts.ledger.task_counts.values())}",
            f"Finished: {facts.ledger.task_counts['FINISHED']}",
            f"Failed: {facts.ledger.task_counts['FAILED']}",
        ],
    ),
    PageOf(
        "job-info",
        lambda facts: f"jobs/{_job(facts, 'succeeded')}/info",
        lambda facts: [_job(facts, "succeeded"), "SUCCEEDED"],
    ),
    PageOf(
        "job-actors",
        lambda facts: f"jobs/{facts.ledger.driver_job}/actors",
        lambda facts: [
            *(actor.id for actor in facts.ledger.actors.values()),
            "Counter",
            "DEAD",
            f"x {len(facts.ledger.actors)}",
        ],
    ),
    PageOf(
        "job-actor",
        lambda facts: f"jobs/{facts.ledger.driver_job}/actors/{facts.ledger.actors['crashed'].id}",
        lambda facts: [
            facts.ledger.actors["crashed"].id,
            "DEAD",
            "Counter",
            facts.ledger.actors["crashed"].death,
        ],
    ),
    PageOf(
        "job-task",
        lambda facts: f"jobs/{facts.ledger.driver_job}/tasks/{facts.ledger.tasks['failed'].id}",
        lambda facts: [facts.ledger.tasks["failed"].id, "FAILED", "NORMAL_TASK"],
    ),
    PageOf(
        "actor-task",
        lambda facts: f"actors/{facts.ledger.actors['named'].id}/tasks/{facts.ledger.tasks['spoke'].id}",
        lambda facts: [facts.ledger.tasks["spoke"].id, "FINISHED", "a line on stderr"],
    ),
    PageOf(
        "serve",
        lambda facts: "serve",
        lambda facts: [
            "healthy",
            "RUNNING",
            "broken",
            "DEPLOY_FAILED",
            "Adder",
            "Front",
            "Controller starting",
        ],
    ),
    PageOf(
        "serve-system",
        lambda facts: "serve/system",
        lambda facts: ["Serve Controller", "UNHEALTHY", facts.proxy],
    ),
    PageOf(
        "serve-controller",
        lambda facts: "serve/system/controller",
        lambda facts: ["SERVE_CONTROLLER_ACTOR", "UNHEALTHY", "Controller starting"],
    ),
    PageOf(
        "serve-proxy",
        lambda facts: f"serve/system/proxies/{facts.proxy}",
        lambda facts: [f"SERVE_PROXY_ACTOR-{facts.proxy}", "HEALTHY", "Proxy starting on node"],
    ),
    PageOf(
        "serve-application",
        lambda facts: "serve/applications/healthy",
        lambda facts: ["/healthy", "RUNNING", "Adder", "Front"],
    ),
    PageOf(
        "serve-deployment",
        lambda facts: "serve/applications/healthy/Front",
        lambda facts: ["Front", "HEALTHY", facts.replica, "RUNNING"],
    ),
    PageOf(
        "serve-replica",
        lambda facts: f"serve/applications/healthy/Front/{facts.replica}",
        lambda facts: [facts.replica, "RUNNING", "Finished initializing replica"],
    ),
    PageOf(
        "cluster",
        lambda facts: "cluster",
        lambda facts: [*facts.nodes, "127.0.0.2 (Head)", "127.0.0.3", "127.0.0.4", "x 3"],
    ),
    PageOf("cluster-info", lambda facts: "cluster/info", lambda facts: ["Ray Version", facts.ray_version]),
    PageOf(
        "node",
        lambda facts: f"cluster/nodes/{facts.head}",
        lambda facts: [f"NODE - {facts.head}", "Node details fetched", "127.0.0.2", "Boot Time"],
    ),
    PageOf("actors", lambda facts: "actors", lambda facts: ["DEAD", f"x {facts.actors}", "JobSupervisor"]),
    PageOf(
        "actor",
        lambda facts: f"actors/{facts.ledger.actors['named'].id}",
        lambda facts: [facts.ledger.actors["named"].id, "counter", "Counter", "Logs"],
    ),
    PageOf("logs", lambda facts: "logs", lambda facts: [f"Node ID: {node}" for node in facts.nodes]),
    PageOf(
        "logs-node",
        lambda facts: f"logs?nodeId={facts.driver_node}",
        lambda facts: ["gcs_server.out", "serve/", f"job-driver-{_job(facts, 'succeeded')}.log"],
    ),
    PageOf(
        "logs-folder",
        lambda facts: f"logs?nodeId={facts.driver_node}&folder=serve",
        lambda facts: ["controller_"],
    ),
    PageOf(
        "log-viewer",
        lambda facts: (
            f"logs/viewer?nodeId={facts.driver_node}&fileName=job-driver-{_job(facts, 'succeeded')}.log"
        ),
        lambda facts: ["submitted: grüß dich"],
    ),
]
