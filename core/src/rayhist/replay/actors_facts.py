"""What is known about one actor, whoever said it, in one form."""

from __future__ import annotations

from typing import Any

import msgspec

from rayhist.events import ActorDefinition
from rayhist.ids import IdKind, nil_id
from rayhist.replay import actors_identity
from rayhist.replay.actors_deaths import NO_DETAIL, died_of, exit_detail, snake_cased
from rayhist.replay.actors_identity import Identity
from rayhist.replay.actors_life import Life, Process
from rayhist.replay.actors_polled import Polled, ShownActor
from rayhist.replay.merging import TOLERANCE_MS, as_shown


class ActorFacts(msgspec.Struct):
    """An actor: what it is, how it fared, and where it was; `death_cause` is spelt as in the state API."""

    actor_id: str
    identity: Identity
    life: Life
    leased: ShownActor | None = None
    """As shown with the place where it was to run, if it never came alive there."""
    death_cause: dict[str, Any] | None = None
    exit_detail: str = NO_DETAIL

    @property
    def process(self) -> Process:
        """The last one, or an empty one."""
        return self.life.processes[-1] if self.life.processes else Process()

    @property
    def pid(self) -> int:
        """Of the last process, or of the one in which it was to come alive; 0 if there is none."""
        return self.process.pid or (self.leased.pid if self.leased else 0)

    @property
    def nodes(self) -> set[str]:
        """Every node it ran on, or was to run on."""
        leased = self.leased.address.node_id if self.leased else ""
        return {*(one.node_id for one in self.life.processes), leased} - {""}

    def die(self, at_ms: int, cause: dict[str, Any]) -> None:
        self.life.state = "DEAD"
        self.life.end_ms = self.life.changed_ms = at_ms
        self.death_cause, self.exit_detail = snake_cased(cause), exit_detail(cause)


def known(actor_id: str, definition: ActorDefinition | None, life: Life, seen: Polled) -> ActorFacts:
    """What events and answers said: what the actor is, from all; how it fared, from the latest."""
    identity = actors_identity.first_said(
        [
            Identity(repr_name=life.repr_name),
            actors_identity.defined(definition),
            actors_identity.listed(seen.row),
            actors_identity.shown(seen.shown),
            Identity(job_id=actor_id[-2 * IdKind.JOB.size :]),  # an actor's id ends with its job's
        ]
    )
    facts = ActorFacts(actor_id, identity, life)
    if life.death_cause:
        facts.death_cause, facts.exit_detail = snake_cased(life.death_cause), exit_detail(life.death_cause)
    if seen.shown is not None:
        _compare(facts, seen.shown)
    if seen.row:
        _compare_row(facts, seen)
    return facts


def _compare(facts: ActorFacts, shown: ShownActor) -> None:
    """Let the dashboard's view fill gaps, and win if it shows a change that no event told of."""
    life, address = facts.life, shown.address
    if (shown.state, shown.num_restarts) == (life.state, life.restarts):  # so these are the same moments
        life.changed_ms = int(shown.timestamp) or life.changed_ms
        life.end_ms = shown.end_time or life.end_ms
    life.start_ms = as_shown(life.start_ms, shown.start_time)
    placed = address.worker_id not in {"", nil_id(IdKind.WORKER)}
    process = Process(address.worker_id, address.node_id, shown.pid, address.port)
    if not life.state or shown.timestamp > life.last_ms + TOLERANCE_MS:
        _adopt(facts, shown)
        life.placed = placed
        if placed and process.worker_id != facts.process.worker_id:
            life.processes = [*life.processes, process]
    elif placed and process.worker_id == facts.process.worker_id:
        life.processes = [*life.processes[:-1], process]
    if not life.placed and shown.state == life.state and address.node_id not in {"", nil_id(IdKind.NODE)}:
        facts.leased = shown


def _adopt(facts: ActorFacts, shown: ShownActor) -> None:
    life = facts.life
    life.state = shown.state
    life.changed_ms = life.last_ms = int(shown.timestamp)
    life.start_ms = life.start_ms or shown.start_time
    life.end_ms = shown.end_time
    life.restarts = max(life.restarts, shown.num_restarts)
    if shown.exit_detail != NO_DETAIL:
        facts.death_cause, facts.exit_detail = snake_cased(died_of(shown.exit_detail)), shown.exit_detail


def _compare_row(facts: ActorFacts, seen: Polled) -> None:
    life, row = facts.life, seen.row
    died_unheard = row["state"] == "DEAD" != life.state and seen.row_at_ms > life.last_ms
    if not life.state or died_unheard:
        life.state = row["state"] or life.state
    if row["state"] == life.state == "DEAD" and not life.death_cause and isinstance(row["death_cause"], dict):
        facts.death_cause = row["death_cause"]
    if not life.processes and (row["node_id"] or row["pid"]):
        life.processes = [Process(node_id=row["node_id"] or "", pid=row["pid"] or 0)]
    life.restarts = max(life.restarts, _count(row["num_restarts"]))
    life.lineage_restarts = max(
        life.lineage_restarts, _count(row["num_restarts_due_to_lineage_reconstruction"])
    )
    life.preemption_restarts = max(
        life.preemption_restarts, _count(row["num_restarts_due_to_node_preemption"])
    )


def _count(value: Any) -> int:
    """Ray prints these numbers as text."""
    try:
        return msgspec.convert(value, int, strict=False)
    except msgspec.ValidationError:
        return 0
