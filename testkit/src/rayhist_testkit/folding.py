"""Fold events and look at what comes of it, without an archive."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from rayhist import events
from rayhist.ids import Cluster, ClusterKind, Session
from rayhist.index import IndexWriter
from rayhist.manifest import NodeManifest, SessionMarker
from rayhist.query import joined
from rayhist.replay.answers import Answers
from rayhist.replay.context import Context, End
from rayhist.replay.exports import Exports
from rayhist.replay.folds import all_folds
from rayhist.resources import Resource
from rayhist.source import Answer

SESSION = Session(Cluster(ClusterKind.RAYCLUSTER, "test", "cluster"), "session_2026-11-30_15-30-13_707929_1")
GOING_ON = End(ended=False, at_ms=0, reason="")
ENDED = End(ended=True, at_ms=1_796_060_000_000, reason="The cluster was shut down.")


class Folded:
    """The rows and documents of a replay."""

    def __init__(self, writer: IndexWriter, context: Context) -> None:
        self._writer = writer
        self.context = context

    @property
    def problems(self) -> list[str]:
        return self.context.problems

    def rows(self, resource: Resource) -> list[dict[str, Any]]:
        """With details, in the order they were written; not for tasks, of which the index keeps no `base`."""
        found = self._writer.database.execute(f'SELECT base, more FROM "{resource.name}" ORDER BY seq')  # noqa: S608 - a name of ours
        return [msgspec.json.decode(joined(base, more)) for base, more in found]

    def documents(self, kind: str) -> dict[str, Any]:
        """By id."""
        found = self._writer.database.execute(
            "SELECT id, body FROM documents WHERE kind = ? ORDER BY rowid", (kind,)
        )
        return {identifier: msgspec.json.decode(body) for identifier, body in found}

    def everything(self) -> list[str]:
        """All that is in the index, to compare two of them."""
        return list(self._writer.database.iterdump())


def fold(
    lines: Iterable[events.Event | bytes | dict[str, Any]],
    *,
    answers: Sequence[Answer] = (),
    end: End = GOING_ON,
    marker: SessionMarker | None = None,
    manifests: dict[str, NodeManifest] | None = None,
    exports: Exports | None = None,
    recorded_nodes: Sequence[str] = (),
) -> Folded:
    """Fold events, each decoded, as a line, or as the object that Ray posts, and write all rows to memory."""
    known = Answers()
    for answer in answers:
        known.add(answer)
    context = Context(
        SESSION,
        marker or SessionMarker(),
        manifests or {},
        known,
        end,
        recorded_nodes=list(recorded_nodes),
        exports=exports or Exports(),
    )
    folds = all_folds()
    wanted = {kind: one for one in folds for kind in one.types}
    for line in lines:
        event = _decoded(line)
        if event.event_type in wanted:
            wanted[event.event_type].add(event)
    writer = IndexWriter(Path(":memory:"))
    for one in folds:
        one.write(context, writer)
    return Folded(writer, context)


def _decoded(line: events.Event | bytes | dict[str, Any]) -> events.Event:
    if isinstance(line, events.Event):
        return line
    return events.decode(line if isinstance(line, bytes) else msgspec.json.encode(line))


def event(event_type: str, at: str = "2026-11-30T15:31:00Z", /, **payload: object) -> dict[str, Any]:
    """An event as Ray posts it; the payload's field names as in JSON."""
    first, *rest = event_type.lower().split("_")
    key = first + "".join(part.title() for part in rest)
    return {"eventType": event_type, "eventId": f"{event_type} {at}", "timestamp": at, key: payload}


def in_base64(identifier: str) -> str:
    """A hex id as events carry it."""
    return base64.b64encode(bytes.fromhex(identifier)).decode()


def answer(endpoint: str, body: object, *, at_ms: int = 1_796_050_000_000, status: int = 200) -> Answer:
    """An answer of the dashboard."""
    return Answer(endpoint, at_ms, status, msgspec.Raw(msgspec.json.encode(body)))


def listed(name: str, rows: Sequence[dict[str, Any]], *, at_ms: int = 1_796_050_000_000) -> Answer:
    """An answer of the state API that lists rows of the resource."""
    body = {"data": {"result": {"total": len(rows), "result": rows}}}
    return answer(f"/api/v0/{name}?detail=1&limit=10000", body, at_ms=at_ms)
