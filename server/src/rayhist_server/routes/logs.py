"""`/api/v0/logs`: which log files a node has, and what is in them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from litestar import Response
from litestar.response import Stream

from rayhist import logs
from rayhist_server import query_params, wire
from rayhist_server.answers import attachment, json_answer
from rayhist_server.failures import TEXT
from rayhist_server.routes.answering import answers
from rayhist_server.session_scope import SessionRequest


@answers("/api/v0/logs")
async def log_files(request: SessionRequest) -> Response[bytes]:
    """The log files of a node (`node_id` or `node_ip`) that match `glob`, by category."""
    params = request.params
    query_params.integer(params, "timeout", 30)
    found = await asyncio.to_thread(
        logs.list_files,
        request.view.index,
        node_id=query_params.first(params, "node_id"),
        node_ip=query_params.first(params, "node_ip"),
        glob=query_params.first(params, "glob", "*"),
    )
    return json_answer(wire.wrapped("", result=found))


@answers("/api/v0/logs/file", **{TEXT: True})
async def log_file(request: SessionRequest) -> Response[Any]:
    """A log file, or the slice of it that a task, an actor, a process or a submission wrote."""
    parameters = {name: values[0] for name, values in request.params.items()}
    wanted = logs.parse_request(parameters)
    view = request.view
    what = await asyncio.to_thread(logs.resolve, view.index, wanted)
    pieces = logs.read(view.store, view.index, what, lines=wanted.lines, colours=not wanted.filter_ansi_code)
    head = await anext(aiter(pieces), b"")  # a failure up to here still becomes an answer of its own
    headers = {
        "content-type": "text/plain",
        "content-disposition": attachment(wanted.download_filename),
    }
    return Stream(_continued(head, pieces), headers=headers)


HANDLERS = [log_files, log_file]


async def _continued(head: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield head
    async for piece in rest:
        yield piece
