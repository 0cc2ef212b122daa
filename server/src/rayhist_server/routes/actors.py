"""`/logical/actors`.  Messages: `ray.dashboard.modules.node`, Ray 2.60."""

from __future__ import annotations

import asyncio

import msgspec
from litestar import Response
from litestar.params import FromPath

from rayhist.google_style import google_style
from rayhist_server import query_params, wire
from rayhist_server.answers import json_answer
from rayhist_server.routes.answering import answers
from rayhist_server.session_scope import SessionRequest
from rayhist_server.view import View


@answers("/logical/actors")
async def actors(request: SessionRequest) -> Response[bytes]:
    """All actors, or those that `ids` names, separated by commas."""
    params = request.params
    wanted = query_params.first(params, "ids").split(",") if "ids" in params else None
    found = await asyncio.to_thread(_found, request.view, wanted)
    return json_answer(wire.envelope("All actors fetched.", {"actors": found}))


@answers("/logical/actors/{actor_id:str}")
async def actor(request: SessionRequest, actor_id: FromPath[str]) -> Response[bytes]:
    """One actor; `null` if it is unknown."""
    detail = await asyncio.to_thread(_detail, request.view, actor_id)
    return json_answer(wire.envelope("Actor details fetched.", {"detail": detail}))


HANDLERS = [actors, actor]


def _detail(view: View, actor_id: str) -> bytes:
    """Unlike in the list, Ray changes the names of its resources here."""
    found = view.index.document("actor", actor_id.lower())
    return b"null" if found is None else wire.encode(google_style(msgspec.json.decode(found)))


def _found(view: View, wanted: list[str] | None) -> bytes:
    if wanted is None:
        return wire.members(view.index.documents("actor"))
    found = ((name, view.index.document("actor", name.lower())) for name in dict.fromkeys(wanted))
    return wire.members((name, body) for name, body in found if body is not None)
