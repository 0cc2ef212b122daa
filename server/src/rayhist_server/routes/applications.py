"""Ray Serve, Ray Data and Ray Train: what was last seen of them.

Shapes: `ServeInstanceDetails.get_empty_schema_dict`, `data_head` and `train_head` of Ray 2.60.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from litestar import Response
from litestar.params import FromPath

from rayhist.redaction import redact_everything
from rayhist_server import query_params, wire
from rayhist_server.answers import json_answer, text_answer
from rayhist_server.routes.answering import answers
from rayhist_server.session_scope import NO_INDEX, SessionRequest
from rayhist_server.view import View

_NO_SERVE: dict[str, Any] = {
    "controller_info": {},
    "proxies": {},
    "applications": {},
    "target_capacity": None,
}
_API_TYPES = ("imperative", "declarative")
_NO_TRAIN = (
    "Train state data is not available. Please make sure Ray Train is running and that the Train state actor"
    ' is enabled by setting the RAY_TRAIN_ENABLE_STATE_TRACKING environment variable to "1".'
)


@answers("/api/serve/applications")
async def serve(request: SessionRequest) -> Response[bytes]:
    """Ray Serve's applications, deployments and replicas."""
    kind = query_params.first(request.params, "api_type")
    if kind and kind.lower() not in _API_TYPES:
        return text_answer(
            f"Invalid 'api_type' value: '{kind}'. Must be one of: {', '.join(_API_TYPES)}", status=400
        )
    body = await asyncio.to_thread(_deployed_by, request.view, kind.lower())
    return json_answer(redact_everything(body) if request.browser else body)


@answers("/api/data/datasets/{job_id:str}")
async def datasets(request: SessionRequest, job_id: FromPath[str]) -> Response[bytes]:
    """Ray Data's datasets of a job."""
    body = await asyncio.to_thread(request.view.good, f"/api/data/datasets/{job_id}")
    return json_answer(body or wire.encode({"datasets": []}))


@answers("/api/train/v2/runs/v1")
async def train(request: SessionRequest) -> Response[bytes]:
    """Ray Train's runs."""
    body = await asyncio.to_thread(request.view.good, "/api/train/v2/runs/v1")
    return text_answer(_NO_TRAIN, status=500) if body is None else json_answer(body)


@answers("/api/train/v2/runs", **{NO_INDEX: True})
async def train_unversioned() -> Response[bytes]:
    """Ray's own answer: its dashboard asks another actor here, which no Ray Train of today starts."""
    return text_answer(_NO_TRAIN, status=500)


HANDLERS = [serve, datasets, train, train_unversioned]


def _deployed_by(view: View, kind: str) -> bytes:
    """The applications that were deployed in that way, or all of them."""
    body = view.good("/api/serve/applications") or wire.encode(_NO_SERVE)
    if not kind:
        return body
    details = msgspec.json.decode(body)
    applications = details["applications"].items()
    return wire.encode(
        details | {"applications": {name: one for name, one in applications if one.get("source") == kind}}
    )
