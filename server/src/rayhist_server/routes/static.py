"""The dashboard's frontend: its page, which carries no data, and its static files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from litestar import Response
from litestar.di import NamedDependency
from litestar.params import FromPath

from rayhist_server.access import PUBLIC
from rayhist_server.frontend import Asset
from rayhist_server.routes.answering import answers
from rayhist_server.services import Services
from rayhist_server.session_scope import NO_INDEX, PAGE, PAGE_WAIT_S, SessionRequest
from rayhist_server.sessions import LAST_KNOWN

_FOR_EVER = "public, max-age=31536000"
_POLICY = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:;"
    " worker-src 'self' blob:; object-src 'none'; base-uri 'none'; frame-ancestors 'self'"
)


@answers("/", **{PAGE: True, NO_INDEX: True})
async def index(request: SessionRequest, services: NamedDependency[Services]) -> Response[Any]:
    """The frontend's page, once the session is open.

    It works below any address that ends in `/`, so others are redirected there.
    """
    raw_path = request.scope["raw_path"].partition(b"?")[0].decode("latin-1")
    here = f"{request.recorded.name}{LAST_KNOWN if request.last_known else ''}"
    if not raw_path.endswith("/"):
        return Response(None, status_code=307, headers={"location": f"{here}/"})
    if raw_path.rstrip("/").rpartition("/")[2] not in {here, ""}:  # `latest`: a link must keep its meaning
        return Response(None, status_code=307, headers={"location": f"../{here}/"})
    async with services.loader(last_known=request.last_known).use(request.recorded, PAGE_WAIT_S):
        asset = await services.frontends.asset(request.recorded, "index.html")
    headers = {"cache-control": "no-store", "content-security-policy": _POLICY, "content-type": asset.kind}
    return Response(asset.body, headers=headers)


@answers("/favicon.ico", **{PUBLIC: True, NO_INDEX: True})
async def favicon(request: SessionRequest, services: NamedDependency[Services]) -> Response[bytes]:
    """The frontend's icon."""
    return _file(await services.frontends.asset(request.recorded, "favicon.ico"), "public, max-age=3600")


@answers("/static/{path:path}", **{PUBLIC: True, NO_INDEX: True})
async def static(
    request: SessionRequest, services: NamedDependency[Services], path: FromPath[Path]
) -> Response[bytes]:
    """A static file of the frontend; its name changes with its content."""
    name = "static/" + str(path).removeprefix("/")
    return _file(await services.frontends.asset(request.recorded, name), _FOR_EVER)


HANDLERS = [index, favicon, static]


def _file(asset: Asset, cache_control: str) -> Response[bytes]:
    headers = {"cache-control": cache_control, "etag": asset.etag, "content-type": asset.kind}
    return Response(asset.body, headers=headers)
