"""`/events` and `/api/v0/cluster_events`: what Ray's components reported.

Shapes and messages: `ray.dashboard.modules.event.event_head` of Ray 2.60.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import msgspec
from litestar import Response

from rayhist.query import BadQuery, Filter, Page, Query
from rayhist_server import query_params, wire
from rayhist_server.answers import json_answer
from rayhist_server.routes.answering import answers
from rayhist_server.session_scope import SessionRequest
from rayhist_server.view import View

_FILTERABLE = ("severity", "source_type", "event_id")


class _Event(msgspec.Struct, rename="camel"):
    """An event as `/events` shows it; one dialect has a number for the time, the other a text."""

    timestamp: str | int | float = 0
    severity: str = ""
    source_type: str = ""
    message: str = ""
    event_id: str = ""
    custom_fields: dict[str, Any] | None = None

    @property
    def seconds(self) -> float:
        try:
            return float(self.timestamp)
        except ValueError:
            return 0.0


@answers("/events")
async def events(request: SessionRequest) -> Response[bytes]:
    """All events by job, or those of `job_id`, which may be `global`."""
    params, index = request.params, request.view.index
    if "job_id" not in params:
        found = await asyncio.to_thread(lambda: wire.members(index.documents("event")))
        return json_answer(wire.envelope("All events fetched.", {"events": found}))
    job = query_params.first(params, "job_id")
    body = await asyncio.to_thread(index.document, "event", job)
    return json_answer(
        wire.envelope("Job events fetched.", {"jobId": wire.encode(job), "events": body or b"[]"})
    )


@answers("/api/v0/cluster_events")
async def cluster_events(request: SessionRequest) -> Response[bytes]:
    """All events as the state API lists them, oldest first."""
    wanted = query_params.list_query(request.params)
    return json_answer(wire.state_list(await asyncio.to_thread(_listed, request.view, wanted)))


HANDLERS = [events, cluster_events]


def _listed(view: View, wanted: Query) -> Page:
    bodies = (body for _, body in view.index.documents("event"))
    found = [event for body in bodies for event in msgspec.json.decode(body, type=list[_Event])]
    found.sort(key=lambda event: event.seconds)
    kept = [event for event in found if all(_meets(event, one) for one in wanted.filters)]
    rows = [wire.encode(_row(event, wanted.detail)) for event in kept[: wanted.limit]]
    return Page(total=len(found), after_truncation=len(found), filtered=len(kept), rows=rows)


def _meets(event: _Event, condition: Filter) -> bool:
    column = condition.column.lower()
    if column not in _FILTERABLE:
        names = ", ".join(repr(name) for name in _FILTERABLE)
        raise BadQuery(
            f"The given filter column {column} is not supported. Supported filter columns: {{{names}}}"
        )
    equal = str(getattr(event, column)).lower() == condition.value.lower()
    return equal == (condition.predicate == "=")


def _row(event: _Event, detail: bool) -> dict[str, Any]:
    row = {
        "severity": event.severity,
        "time": datetime.fromtimestamp(int(event.seconds), UTC).strftime("%Y-%m-%d %H:%M:%S"),
        "source_type": event.source_type,
        "message": event.message,
        "event_id": event.event_id,
    }
    return row | {"custom_fields": event.custom_fields} if detail else row
