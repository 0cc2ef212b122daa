"""Actors: what they are and how they fared from events, their processes from what the dashboard showed."""

from __future__ import annotations

from rayhist.events import ActorDefinition, ActorTransition, Event, timestamp_ns
from rayhist.ids import IdKind, hex_from_base64
from rayhist.index import IndexWriter
from rayhist.replay import actors_documents, actors_identity
from rayhist.replay.actors_deaths import died_of
from rayhist.replay.actors_facts import ActorFacts, known
from rayhist.replay.actors_life import Process, lived
from rayhist.replay.actors_polled import Polled, polled_actors
from rayhist.replay.context import Context
from rayhist.replay.fold import Fold
from rayhist.replay.merging import Definitions, Transitions, required_id, timed
from rayhist.replay.status import ended
from rayhist.resources import ACTORS


class ActorEvents:
    """What events said about one actor."""

    __slots__ = ("definitions", "transitions")

    def __init__(self) -> None:
        self.definitions: Definitions[ActorDefinition] = Definitions()
        self.transitions: Transitions[ActorTransition] = Transitions()


class ActorFold(Fold):
    """Writes the actors' rows and documents."""

    types = frozenset({"ACTOR_DEFINITION_EVENT", "ACTOR_LIFECYCLE_EVENT"})

    def __init__(self) -> None:
        self._events: dict[str, ActorEvents] = {}
        self._nodes: dict[str, list[str]] = {}

    def add(self, event: Event) -> None:
        if (definition := event.actor_definition_event) is not None:
            at_ns = timestamp_ns(event.timestamp)
            actors_identity.defined(definition)  # believable?  `write` relies on it
            self._of(definition.actor_id).definitions.add(at_ns, definition)
        if (lifecycle := event.actor_lifecycle_event) is not None:
            transitions = timed(lifecycle.state_transitions)
            for one in lifecycle.state_transitions:
                hex_from_base64(IdKind.WORKER, one.worker_id)
                hex_from_base64(IdKind.NODE, one.node_id)
            self._of(lifecycle.actor_id).transitions.add(transitions)

    def _of(self, actor_id: str) -> ActorEvents:
        return self._events.setdefault(required_id(IdKind.ACTOR, actor_id), ActorEvents())

    def on_node(self, node: str) -> list[str]:
        """The ids of the actors that ever were there, sorted; after `write`."""
        return self._nodes.get(node, [])

    def write(self, context: Context, writer: IndexWriter) -> None:
        polled = polled_actors(context)
        for actor_id in sorted(self._events.keys() | polled.keys()):
            seen = polled.get(actor_id, Polled())
            facts = self._facts(actor_id, seen, context)
            alive = facts.life.state != "DEAD"
            if alive and context.end.ended:
                _end(facts, context)
            document = actors_documents.document(facts, seen, context, alive=alive)
            writer.rows(ACTORS, [actors_documents.row(facts)])
            writer.document("actor", actor_id, document)
            writer.document("actor.workers", actor_id, actors_documents.workers(facts))
            for node in facts.nodes:
                self._nodes.setdefault(node, []).append(actor_id)

    def _facts(self, actor_id: str, seen: Polled, context: Context) -> ActorFacts:
        events = self._events.get(actor_id, ActorEvents())
        facts = known(actor_id, events.definitions.merged(), lived(events.transitions), seen)
        facts.life.processes = [_with_pid(one, context) for one in facts.life.processes]
        return facts


def _with_pid(process: Process, context: Context) -> Process:
    """Ray 2.53 leaves the pid out of its actor events."""
    worker = context.workers.get(process.worker_id, {})
    pid = process.pid or worker.get("pid") or 0
    return Process(process.worker_id, process.node_id, pid, process.port)


def _end(facts: ActorFacts, context: Context) -> None:
    """An actor that outlived its cluster's record ended with it."""
    message = f"{ended(context.end)} The actor was {facts.life.state} then."
    at_ms = max(context.end.at_ms, facts.life.last_ms, facts.life.start_ms)  # the last heartbeat may be older
    facts.die(at_ms, died_of(message, never_started=not facts.life.start_ms))
