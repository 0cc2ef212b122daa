"""`/api/v0/<resource>`: the lists of Ray's state API."""

from __future__ import annotations

import asyncio

import msgspec
from litestar import Response
from litestar.handlers import HTTPRouteHandler

from rayhist import query
from rayhist.query import Query
from rayhist.redaction import redact_everything
from rayhist.resources import RESOURCES, Resource
from rayhist_server import wire
from rayhist_server.answers import json_answer
from rayhist_server.query_params import list_query
from rayhist_server.routes.answering import answers
from rayhist_server.session_scope import SessionRequest
from rayhist_server.view import View


def _lister(resource: Resource) -> HTTPRouteHandler:
    async def rows(request: SessionRequest) -> Response[bytes]:
        wanted = list_query(request.params)
        return json_answer(await asyncio.to_thread(_answer, request.view, resource, wanted, request.browser))

    rows.__name__ = rows.__qualname__ = resource.name
    rows.__doc__ = (
        f"The session's {resource.name}.  Parameters: `limit`, `detail`, and repeatedly `filter_keys`,"
        " `filter_predicates`, `filter_values`."
    )
    return answers(f"/api/v0/{resource.name}")(rows)


HANDLERS = [_lister(resource) for resource in RESOURCES.values()]


def _answer(view: View, resource: Resource, wanted: Query, browser: bool) -> bytes:
    page = query.run(view.index, resource, wanted)
    if browser:
        page = msgspec.structs.replace(page, rows=[redact_everything(row) for row in page.rows])
    return wire.state_list(page, view.remarks(resource))
