"""Comparing what a dashboard answers, live or replayed, with the ledger."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator
from typing import Any

from rayhist.errors import RayhistError
from rayhist_testkit.cluster.dashboard import Dashboard
from rayhist_testkit.demo.ledger import Ledger, Log


def mismatches(dashboard: Dashboard, ledger: Ledger) -> list[str]:
    """Everything that is not as the ledger says, a line each; an answer that fails is a line as well."""
    found: list[str] = []
    for check in (_nodes, _jobs, _tasks, _counts, _actors, _groups, _logs, _applications, _datasets, _runs):
        try:
            found += check(dashboard, ledger)
        except (RayhistError, LookupError, TypeError, ValueError) as error:
            found.append(f"{check.__name__.strip('_')}: {type(error).__name__}: {error}")
    return found


def _differences(what: str, expected: dict[str, Any], seen: dict[str, Any]) -> Iterator[str]:
    for field, value in expected.items():
        if seen.get(field) != value:
            yield f"{what}: {field} is {seen.get(field)!r}, not {value!r}"


def _lacks(what: str, expected: str, seen: object) -> Iterator[str]:
    if expected not in str(seen):
        yield f"{what}: {str(seen)[:300]!r} does not say {expected!r}"


def _by(key: str, rows: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row[key]: row for row in rows}


def _nodes(dashboard: Dashboard, ledger: Ledger) -> Iterator[str]:
    nodes = dashboard.json("nodes", view="summary")["data"]["summary"]
    heads = [node for node in nodes if node["raylet"].get("isHeadNode")]
    seen = {"heads": len(heads), "all": len(nodes)}
    yield from _differences("nodes", {"heads": 1, "all": ledger.nodes}, seen)


def _jobs(dashboard: Dashboard, ledger: Ledger) -> Iterator[str]:
    listed = dashboard.json("api/jobs/")
    yield from _differences("jobs", {"count": len(ledger.jobs)}, {"count": len(listed)})
    jobs = {job["submission_id"] or job["job_id"]: job for job in listed}
    for label, job in ledger.jobs.items():
        seen = jobs.get(job.id, {})
        yield from _differences(f"job {label}", {"type": job.type, "status": job.status}, seen)
        yield from _lacks(f"job {label}", job.message, seen.get("message"))


def _tasks(dashboard: Dashboard, ledger: Ledger) -> Iterator[str]:
    attempts = collections.defaultdict(list)
    for row in dashboard.rows("tasks", job_id=ledger.driver_job):
        attempts[row["task_id"]].append(row)
    for label, task in ledger.tasks.items():
        rows = sorted(attempts[task.id], key=lambda row: int(row["attempt_number"]))
        last = rows[-1] if rows else {}
        seen = {
            "states": [row["state"] for row in rows],
            "name": last.get("name"),
            "error_type": last.get("error_type"),
        }
        expected = {"states": task.states, "name": task.name, "error_type": task.error_type}
        yield from _differences(f"task {label}", expected, seen)


def _counts(dashboard: Dashboard, ledger: Ledger) -> Iterator[str]:
    rows = dashboard.rows("tasks", job_id=ledger.driver_job)
    seen = collections.Counter(row["state"] for row in rows)
    yield from _differences("task attempts", {**dict.fromkeys(seen, 0), **ledger.task_counts}, seen)


def _actors(dashboard: Dashboard, ledger: Ledger) -> Iterator[str]:
    actors = dashboard.json("logical/actors")["data"]["actors"]
    for label, actor in ledger.actors.items():
        seen = actors.get(actor.id, {})
        expected = {"state": actor.state, "actorClass": actor.class_name, "name": actor.name}
        yield from _differences(f"actor {label}", expected, seen)
        restarts = {"restarts": int(seen.get("numRestarts", 0))}
        yield from _differences(f"actor {label}", {"restarts": actor.restarts}, restarts)
        yield from _lacks(f"actor {label}", actor.death, seen.get("exitDetail"))


def _groups(dashboard: Dashboard, ledger: Ledger) -> Iterator[str]:
    groups = _by("placement_group_id", dashboard.rows("placement_groups"))
    for label, group in ledger.groups.items():
        expected = {"name": group.name, "state": group.state}
        yield from _differences(f"placement group {label}", expected, groups.get(group.id, {}))


def _logs(dashboard: Dashboard, ledger: Ledger) -> Iterator[str]:
    for label, log in ledger.logs.items():
        seen = dashboard.raw("api/v0/logs/file", **log.query, lines=-1)
        yield from _log_differences(f"log of {label}", log, seen)


def _log_differences(what: str, log: Log, seen: bytes) -> Iterator[str]:
    if log.whole is not None and seen != log.whole:
        yield f"{what}: {len(seen)} bytes, not the {len(log.whole)} that were written: {seen[:60]!r}…"
    lines = seen.splitlines()
    for line in log.lines:
        if line not in lines:
            yield f"{what}: no line {line!r} among its {len(lines)}"


def _applications(dashboard: Dashboard, ledger: Ledger) -> Iterator[str]:
    if ledger.applications:
        seen = dashboard.json("api/serve/applications/")["applications"]
        states = {name: application["status"] for name, application in seen.items()}
        yield from _differences("serve applications", ledger.applications, states)


def _datasets(dashboard: Dashboard, ledger: Ledger) -> Iterator[str]:
    for name, dataset in ledger.datasets.items():
        seen = dashboard.json(f"api/data/datasets/{dataset.job}")["datasets"]
        states = [each["state"] for each in seen if each["dataset"].startswith(name)]
        yield from _differences(f"dataset {name}", {"states": [dataset.state]}, {"states": states})


def _runs(dashboard: Dashboard, ledger: Ledger) -> Iterator[str]:
    if ledger.train_runs:
        seen = dashboard.json("api/train/v2/runs/v1")["train_runs"]
        states = {run["name"]: run["status"] for run in seen}
        yield from _differences("train runs", ledger.train_runs, states)
