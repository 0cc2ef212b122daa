"""One actor's life: what its changes of state, however merged and repeated, come to."""

from __future__ import annotations

from typing import Any

import msgspec

from rayhist.events import ActorTransition
from rayhist.ids import IdKind, hex_from_base64
from rayhist.replay.merging import Transitions

_STATES = ("DEPENDENCIES_UNREADY", "PENDING_CREATION", "RESTARTING", "ALIVE", "DEAD")


class Process(msgspec.Struct, frozen=True):
    """A worker process that hosted the actor; the pid and port are 0 if Ray did not say (2.53)."""

    worker_id: str = ""
    node_id: str = ""
    pid: int = 0
    port: int = 0


class Life(msgspec.Struct):
    """Times are epoch milliseconds, 0 for never."""

    state: str = ""
    changed_ms: int = 0
    """When the actor last came alive or died; Ray calls it `timestamp`."""
    start_ms: int = 0
    """When it first came alive."""
    end_ms: int = 0
    """When it died; Ray may report a death twice, and the first counts."""
    last_ms: int = 0
    """The last change of any kind."""
    processes: list[Process] = []
    """Oldest first."""
    placed: bool = False
    """Whether the last process is where the actor is, or was when it died; no longer once a restart began."""
    restarts: int = 0
    lineage_restarts: int = 0
    preemption_restarts: int = 0
    repr_name: str = ""
    death_cause: dict[str, Any] | None = None
    """As in the event."""


def lived(transitions: Transitions[ActorTransition]) -> Life:
    life = Life()
    for at_ms, one in transitions.ordered(_STATES):
        life.last_ms = at_ms
        life.state = one.state
        life.repr_name = one.repr_name or life.repr_name
        if one.state == "ALIVE":
            _come_alive(life, at_ms, one)
        elif one.state == "RESTARTING":
            _restart(life, one)
        elif one.state == "DEAD":
            life.end_ms = life.end_ms or at_ms
            life.changed_ms = at_ms
            life.death_cause = one.death_cause or life.death_cause
    return life


def _come_alive(life: Life, at_ms: int, one: ActorTransition) -> None:
    life.start_ms = life.start_ms or at_ms
    life.changed_ms = at_ms
    life.placed = True
    worker_id = hex_from_base64(IdKind.WORKER, one.worker_id)
    node_id = hex_from_base64(IdKind.NODE, one.node_id)
    life.processes = [*life.processes, Process(worker_id, node_id, one.pid, one.port)]


def _restart(life: Life, one: ActorTransition) -> None:
    life.placed = False
    life.end_ms, life.death_cause = 0, None  # an actor out of scope comes back when its objects are needed
    life.restarts += 1
    life.lineage_restarts += one.restart_reason == "LINEAGE_RECONSTRUCTION"
    life.preemption_restarts += one.restart_reason == "NODE_PREEMPTION"
