"""`/nodes`: the cluster's nodes as last seen alive.  Messages: `ray.dashboard.modules.node`, Ray 2.60."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from litestar import Response
from litestar.params import FromPath

from rayhist_server import query_params, wire
from rayhist_server.answers import json_answer
from rayhist_server.routes.answering import answers
from rayhist_server.session_scope import SessionRequest
from rayhist_server.view import View

_UNKNOWN_NODE: dict[str, Any] = {
    "raylet": {"objectStoreUsedMemory": 0, "objectStoreAvailableMemory": 0, "stateMessage": None},
    "tpus": [],
    "actors": {},
    "workers": [],
}


class _HostName(msgspec.Struct):
    hostname: str = ""


@answers("/nodes")
async def nodes(request: SessionRequest) -> Response[bytes]:
    """All nodes (`view=summary`), or their host names (`view=hostNameList`)."""
    view = query_params.first(request.params, "view", "None")
    if view == "summary":
        return json_answer(await asyncio.to_thread(_summary, request.view))
    if view.lower() == "hostnamelist":
        names = await asyncio.to_thread(_host_names, request.view)
        return json_answer(wire.wrapped("Node hostname list fetched.", hostNameList=names))
    return json_answer(wire.envelope(f"Unknown view {view}", {}, result=False), status=500)


@answers("/nodes/{node_id:str}")
async def node(request: SessionRequest, node_id: FromPath[str]) -> Response[bytes]:
    """One node with its hardware, workers and actors; of an unknown one an almost empty detail."""
    found = await asyncio.to_thread(request.view.index.document, "node.detail", node_id.lower())
    detail = found or wire.encode(_UNKNOWN_NODE)
    return json_answer(wire.envelope("Node details fetched.", {"detail": detail}))


HANDLERS = [nodes, node]


def _summary(view: View) -> bytes:
    summary = wire.array(body for _, body in view.index.documents("node.summary"))
    resources = view.kept("node resources", lambda: _resources(view))
    data = {"summary": summary, "nodeLogicalResources": resources}
    return wire.envelope("Node summary fetched.", data)


def _resources(view: View) -> bytes:
    """Node → its logical resources in words, which only a poll can tell."""
    polled = view.decoded("/nodes?view=summary")
    return wire.encode(polled["data"].get("nodeLogicalResources", {}) if polled else {})


def _host_names(view: View) -> list[str]:
    bodies = (body for _, body in view.index.documents("node.summary"))
    return sorted({msgspec.json.decode(body, type=_HostName).hostname for body in bodies})
