"""What becomes of the ledger when its cluster is dead: nothing in it goes on."""

from __future__ import annotations

import collections

from msgspec.structs import replace

from rayhist_testkit.demo.ledger import Actor, Job, Ledger, Task

_TERMINAL = {"FINISHED", "FAILED"}
_DIED = "WORKER_DIED"


def after_the_end(ledger: Ledger) -> Ledger:
    """What the replay has to say once the session counts as ended; logs, groups and results stay."""
    counts: collections.Counter[str] = collections.Counter()
    for state, count in ledger.task_counts.items():
        counts[_final(state)] += count
    return replace(
        ledger,
        jobs={label: _job(job) for label, job in ledger.jobs.items()},
        tasks={label: _task(task) for label, task in ledger.tasks.items()},
        task_counts=dict(counts),
        actors={label: _actor(actor) for label, actor in ledger.actors.items()},
    )


def _job(job: Job) -> Job:
    if job.status not in {"RUNNING", "PENDING"}:
        return job
    return replace(job, status="FAILED", message=f"last known status was {job.status}")


def _task(task: Task) -> Task:
    states = [_final(state) for state in task.states]
    return task if states == task.states else replace(task, states=states, error_type=_DIED)


def _actor(actor: Actor) -> Actor:
    if actor.state == "DEAD":
        return actor
    return replace(actor, state="DEAD", death=f"The actor was {actor.state} then.")


def _final(state: str) -> str:
    return state if state in _TERMINAL else "FAILED"
