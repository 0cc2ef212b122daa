"""`/api/v0/<resource>/summarize`, and the tasks' timeline.

Texts: `ray.util.state.common` and `ray.dashboard.modules.state.state_head` of Ray 2.60.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from litestar import Response

from rayhist import query, summary, timeline
from rayhist.index import Index
from rayhist.query import BadQuery, Filter, Query
from rayhist.resources import ACTORS, OBJECTS, TASKS, Resource
from rayhist_server import query_params, wire
from rayhist_server.answers import attachment, json_answer
from rayhist_server.routes.answering import answers
from rayhist_server.session_scope import SessionRequest
from rayhist_server.view import View

Summarize = Callable[[Index, Sequence[Filter]], object]

_TASK_SUMMARIES: dict[str, Summarize] = {
    "func_name": summary.tasks_by_func_name,
    "task_name": summary.tasks_by_func_name,
    "lineage": summary.tasks_by_lineage,
}


@answers("/api/v0/tasks/summarize")
async def tasks_summary(request: SessionRequest) -> Response[bytes]:
    """Tasks counted by name (`summary_by=func_name`), or by what started them (`lineage`), and by state."""
    kind = query_params.first(request.params, "summary_by") or "func_name"
    if kind not in _TASK_SUMMARIES:
        raise BadQuery(f"summary_by must be one of {', '.join(_TASK_SUMMARIES)}")
    return await _summary(request, TASKS, _TASK_SUMMARIES[kind])


@answers("/api/v0/actors/summarize")
async def actors_summary(request: SessionRequest) -> Response[bytes]:
    """Actors counted by class and state."""
    return await _summary(request, ACTORS, summary.actors)


@answers("/api/v0/objects/summarize")
async def objects_summary(request: SessionRequest) -> Response[bytes]:
    """Objects counted by call site."""
    return await _summary(request, OBJECTS, summary.objects)


@answers("/api/v0/tasks/timeline")
async def tasks_timeline(request: SessionRequest) -> Response[bytes]:
    """What ran when, as a Chrome trace: of `job_id` or of all jobs; with `download=1` as a file."""
    params, view = request.params, request.view
    job = query_params.first(params, "job_id")
    body = await asyncio.to_thread(lambda: wire.encode(timeline.events(view.index, job or None)))
    headers = {}
    if query_params.first(params, "download") == "1":
        at = datetime.fromtimestamp(view.end.at_ms / 1000, UTC).strftime("%Y-%m-%d_%H-%M-%S")
        headers["content-disposition"] = attachment(f"timeline-{job or None}-{at}.json")
    return json_answer(body, headers=headers)


HANDLERS = [tasks_summary, actors_summary, objects_summary, tasks_timeline]


async def _summary(request: SessionRequest, resource: Resource, summarize: Summarize) -> Response[bytes]:
    query_params.integer(request.params, "timeout", 30)
    filters = query_params.filters(request.params)
    return json_answer(await asyncio.to_thread(_summed_up, request.view, resource, summarize, filters))


def _summed_up(view: View, resource: Resource, summarize: Summarize, filters: tuple[Filter, ...]) -> bytes:
    counts = query.run(view.index, resource, Query(filters=filters, limit=0))
    result = wire.encode(summarize(view.index, filters))
    remarks = view.remarks(resource)
    return wire.state_result(counts.total, counts.after_truncation, counts.filtered, result, remarks)
