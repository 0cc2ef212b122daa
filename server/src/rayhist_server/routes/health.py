"""Whether the server lives, whether it can serve, and its metrics."""

from __future__ import annotations

import asyncio

import msgspec
from litestar import Response
from litestar.di import NamedDependency

from rayhist import layout
from rayhist.errors import StorageError, Unavailable
from rayhist_server import wire
from rayhist_server.access import PUBLIC
from rayhist_server.answers import json_answer, text_answer
from rayhist_server.metrics import CONTENT_TYPE
from rayhist_server.routes.answering import answers
from rayhist_server.services import Services

_PATIENCE_S = 5.0


class Readiness(msgspec.Struct, frozen=True):
    """Whether the archive can be read; if not, why not and what to do."""

    ready: bool
    archive: str
    problem: str = ""
    remedy: str | None = None


@answers(["/healthz", "/livez"], **{PUBLIC: True})
async def healthz() -> Response[bytes]:
    """The process answers."""
    return text_answer("ok")


@answers(["/readyz", "/readz"], **{PUBLIC: True})
async def readyz(services: NamedDependency[Services]) -> Response[bytes]:
    """The archive can be read; else 503 and why not."""
    readiness = await _readiness(services)
    status = 200 if readiness.ready else 503
    return json_answer(wire.encode(readiness), status=status, headers={"cache-control": "no-store"})


@answers("/metrics", **{PUBLIC: True})
async def metrics(services: NamedDependency[Services]) -> Response[bytes]:
    """Metrics for Prometheus."""
    return Response(await asyncio.to_thread(services.metrics.render), headers={"content-type": CONTENT_TYPE})


HANDLERS = [healthz, readyz, metrics]


async def _readiness(services: Services) -> Readiness:
    location = services.store.location
    try:
        async with asyncio.timeout(_PATIENCE_S):
            async for _ in services.store.list_objects(layout.metadata_prefix()):
                break
    except TimeoutError:
        slow = Unavailable(
            f"{location} did not answer within {_PATIENCE_S:.0f} s", remedy="check the network"
        )
        return Readiness(ready=False, archive=location, problem=str(slow), remedy=slow.remedy)
    except StorageError as error:
        return Readiness(ready=False, archive=location, problem=str(error), remedy=error.remedy)
    return Readiness(ready=True, archive=location)
