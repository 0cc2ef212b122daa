"""Actors that are alive, named, detached, restarted, crashed, killed, broken from the start, out of scope."""

from __future__ import annotations

import os
from typing import Any

import ray

from rayhist_testkit.cluster.dashboard import Dashboard
from rayhist_testkit.cluster.waiting import until
from rayhist_testkit.demo.ledger import Actor, Log
from rayhist_testkit.demo.workload.run import PATIENCE_S, Finish, Run, expected_failure

_OTHER_NAMESPACE = "other"


class Counter:
    """Counts, and dies on demand."""

    def __init__(self, *, broken: bool = False) -> None:
        if broken:
            raise ValueError("this actor is broken on purpose")
        self.count = 0

    def add(self) -> int:
        self.count += 1
        print(f"counted to {self.count}", flush=True)  # noqa: T201 - its log is part of the workload
        return self.count

    def die(self) -> None:
        os._exit(1)


_remote: Any = ray.remote(num_cpus=0.1)(Counter)


def begin(run: Run) -> Finish:
    """Start all actors; then let those die that are to be dead."""
    named = _remote.options(name="counter").remote()
    detached = _remote.options(name="detached", lifetime="detached", namespace=_OTHER_NAMESPACE).remote()
    restarted = _remote.options(max_restarts=2).remote()
    crashed, killed, forgotten = _remote.remote(), _remote.remote(), _remote.remote()
    broken = _remote.remote(broken=True)
    run.kept += [named, detached, restarted]
    living = [named, detached, restarted, crashed, killed, forgotten]
    first_calls = [handle.add.remote() for handle in living]
    run.count(*["FINISHED"] * (2 * len(living)))  # each one's creation and first call
    _enter(run, "named", named, "ALIVE", name="counter")
    _enter(run, "detached", detached, "ALIVE", name="detached")
    _enter(run, "restarted", restarted, "ALIVE", restarts=1)
    _enter(run, "crashed", crashed, "DEAD", death="worker process has died")
    _enter(run, "killed", killed, "DEAD", death="ray.kill")
    _enter(run, "broken", broken, "DEAD", death="broken on purpose")
    _enter(run, "forgotten", forgotten, "DEAD", death="all references to the actor were removed")
    forgotten_call = first_calls.pop()
    del living, forgotten

    def finish() -> None:
        ray.get([*first_calls, forgotten_call], timeout=PATIENCE_S)
        _let_die(run, restarted, crashed, killed, broken)

    return finish


def _let_die(run: Run, restarted: Any, crashed: Any, killed: Any, broken: Any) -> None:
    ray.kill(killed)
    for handle in (restarted, crashed):
        with expected_failure():
            ray.get(handle.die.remote(), timeout=PATIENCE_S)
    with expected_failure():
        ray.get(broken.add.remote(), timeout=PATIENCE_S)
    run.count(*["FAILED"] * 4)  # two deaths; the broken one's creation and call
    until(
        lambda: _is_back(run, restarted), "the crashed actor is alive again", within_s=PATIENCE_S, every_s=0.5
    )
    ray.get(restarted.add.remote(), timeout=PATIENCE_S)
    run.count("FINISHED")
    run.ledger.logs["actor's stdout"] = Log(
        {"actor_id": run.ledger.actors["named"].id, "suffix": "out"}, lines=[b"counted to 1"]
    )


def _is_back(run: Run, handle: Any) -> bool:
    actor = Dashboard(run.dashboard).json(f"logical/actors/{_id(handle)}", nocache=1)["data"]["detail"]
    return bool(actor["state"] == "ALIVE" and int(actor["numRestarts"]) == 1)


def _id(handle: Any) -> str:
    actor_id: str = handle._actor_id.hex()  # noqa: SLF001 - Ray offers no other way
    return actor_id


def _enter(run: Run, label: str, handle: Any, state: str, **known: Any) -> None:
    run.ledger.actors[label] = Actor(_id(handle), "Counter", state, **known)
