"""`/api/jobs/`: submissions and drivers, as Ray's job API answers.

Texts: `ray.dashboard.modules.job.job_head` of Ray 2.60.
"""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from litestar import Response
from litestar.params import FromPath
from litestar.response import Stream

from rayhist import logs
from rayhist.redaction import redact_everything
from rayhist_server import wire
from rayhist_server.answers import JSON, json_answer, text_answer
from rayhist_server.routes.answering import answers
from rayhist_server.session_scope import SessionRequest
from rayhist_server.view import View


class _Job(msgspec.Struct):
    type: str = ""
    submission_id: str | None = None
    driver_node_id: str | None = None


@answers("/api/jobs")
async def jobs(request: SessionRequest) -> Response[bytes]:
    """All jobs, in a bare array."""
    return json_answer(await asyncio.to_thread(_all, request.view, request.browser))


@answers("/api/jobs/{job_or_submission_id:str}")
async def job(request: SessionRequest, job_or_submission_id: FromPath[str]) -> Response[bytes]:
    """One job, by either id."""
    body = await asyncio.to_thread(_find, request.view, job_or_submission_id)
    if body is None:
        return _unknown(job_or_submission_id)
    return json_answer(redact_everything(body) if request.browser else body)


@answers("/api/jobs/{job_or_submission_id:str}/logs")
async def job_logs(request: SessionRequest, job_or_submission_id: FromPath[str]) -> Response[Any]:
    """The whole log of a submission's driver, in JSON."""
    body = await asyncio.to_thread(_find, request.view, job_or_submission_id)
    if body is None:
        return _unknown(job_or_submission_id)
    found = msgspec.json.decode(body, type=_Job)
    if found.type != "SUBMISSION" or not found.submission_id:
        return text_answer("Can only get logs of submission type jobs", status=400)
    if not found.driver_node_id:  # it never had a driver, so there is no log
        return json_answer(wire.encode({"logs": ""}))
    wanted = logs.LogRequest(submission_id=found.submission_id, lines=logs.ALL_LINES)
    view = request.view
    what = await asyncio.to_thread(logs.resolve, view.index, wanted)
    return Stream(_as_json(logs.read(view.store, view.index, what)), media_type=JSON)


HANDLERS = [jobs, job, job_logs]


def _all(view: View, browser: bool) -> bytes:
    bodies = (body for _, body in view.index.documents("job"))
    return wire.array(redact_everything(body) if browser else body for body in bodies)


def _find(view: View, identifier: str) -> bytes | None:
    alias = view.index.document("job.alias", identifier)
    return view.index.document("job", msgspec.json.decode(alias, type=str) if alias else identifier)


def _unknown(identifier: str) -> Response[bytes]:
    return text_answer(f"Job {identifier} does not exist", status=404)


async def _as_json(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """`{"logs": "…"}` piece by piece: a log need not fit into memory."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    yield b'{"logs":"'
    async for piece in pieces:
        yield wire.encode(decoder.decode(piece))[1:-1]
    yield wire.encode(decoder.decode(b"", final=True))[1:-1] + b'"}'
