"""Nodes: from events, from what the dashboard showed of them, and from what their collectors left behind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rayhist.events import Event, NodeDefinition, NodeTransition, timestamp_ns
from rayhist.ids import IdKind
from rayhist.index import IndexWriter
from rayhist.replay import nodes_documents, nodes_facts, polled
from rayhist.replay.context import Context
from rayhist.replay.fold import Fold
from rayhist.replay.merging import Definitions, Transitions, required_id, timed
from rayhist.replay.nodes_facts import NodeFacts
from rayhist.replay.nodes_polled import SUMMARY, listed
from rayhist.replay.status import ended
from rayhist.resources import NODES


class NodeEvents:
    """What events said about one node."""

    __slots__ = ("definitions", "transitions")

    def __init__(self) -> None:
        self.definitions: Definitions[NodeDefinition] = Definitions()
        self.transitions: Transitions[NodeTransition] = Transitions()


class NodeFold(Fold):
    """Writes the nodes' rows and summaries, and fills `context.node_states`."""

    types = frozenset({"NODE_DEFINITION_EVENT", "NODE_LIFECYCLE_EVENT"})

    def __init__(self) -> None:
        self._events: dict[str, NodeEvents] = {}
        self.facts: dict[str, NodeFacts] = {}
        """By node id; filled by `write`."""

    def add(self, event: Event) -> None:
        if (definition := event.node_definition_event) is not None:
            at_ns = timestamp_ns(event.timestamp)
            if definition.start_timestamp:
                timestamp_ns(definition.start_timestamp)  # believable?  `write` relies on it
            self._of(definition.node_id).definitions.add(at_ns, definition)
        if (lifecycle := event.node_lifecycle_event) is not None:
            transitions = timed(lifecycle.state_transitions)
            self._of(lifecycle.node_id).transitions.add(transitions)

    def _of(self, node_id: str) -> NodeEvents:
        return self._events.setdefault(required_id(IdKind.NODE, node_id), NodeEvents())

    def write(self, context: Context, writer: IndexWriter) -> None:
        self.facts = dict(self._gather(context))
        for node, facts in self.facts.items():
            context.node_states[node] = _row(facts, context)
        writer.rows(NODES, context.node_states.values())
        _note_missing(context, self.facts)
        places = {node: place for place, node in enumerate(listed(context.answers.good(SUMMARY)))}
        for node in sorted(self.facts, key=lambda node: places.get(node, len(places))):
            summary = nodes_documents.summary(self.facts[node], context)
            writer.document("node.summary", node, summary)

    def _gather(self, context: Context) -> Iterator[tuple[str, NodeFacts]]:
        """The facts of every node that anything knows of, by id."""
        listed = polled.listing(context.answers, NODES, context.problems).rows
        rows = {row["node_id"]: row for row in listed}
        known = {*self._events, *rows, *context.answers.nodes, *context.manifests, *context.recorded_nodes}
        for node in sorted(known):
            events = self._events.get(node)
            sources = [
                nodes_facts.of_events(events.definitions, events.transitions) if events else NodeFacts(),
                nodes_facts.of_row(rows.get(node, {})),
                nodes_facts.of_raylet(context.answers.nodes.dead_raylet(node)),
                nodes_facts.of_summary(context.answers.nodes.summary(node)),
                nodes_facts.of_summary(context.answers.nodes.detail(node)),
                nodes_facts.of_manifest(context.manifests.get(node)),
            ]
            yield node, nodes_facts.merged(node, sources, context.marker.head_node)


def _row(facts: NodeFacts, context: Context) -> dict[str, Any]:
    row = {
        "node_id": facts.node_id,
        "node_ip": facts.ip,
        "is_head_node": facts.is_head,
        "state": facts.state,
        "state_message": facts.message,
        "node_name": facts.name,
        "resources_total": facts.resources,
        "labels": facts.labels,
        "start_time_ms": facts.start_ms,
        "end_time_ms": facts.end_ms,
    }
    if facts.state == "ALIVE" and context.end.ended:
        end_ms = max(context.end.at_ms, facts.start_ms)
        row |= {"state": "DEAD", "state_message": ended(context.end), "end_time_ms": end_ms}
    return row


def _note_missing(context: Context, facts: dict[str, NodeFacts]) -> None:
    unseen = [node for node in facts if not context.answers.nodes.summary(node).get("now")]
    if unseen:
        context.problems.append(
            f"The hardware use of {len(unseen)} of {len(facts)} nodes is unknown: no answer of the dashboard"
            " that shows it was recorded while they lived."
        )
    context.problems.extend(
        f"A recorded answer of {endpoint} is not what the dashboard answers; it was left out."
        for endpoint in sorted(context.answers.nodes.misread)
    )
