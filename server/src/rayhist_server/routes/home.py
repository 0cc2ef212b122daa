"""The list of sessions: `/` for people, `/api/v1/sessions` for programs."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import Request, Response
from litestar.di import NamedDependency
from litestar.params import FromPath

from rayhist.catalog import SessionEntry, State
from rayhist.ids import ClusterKind
from rayhist.manifest import JobSummary
from rayhist.query import BadQuery
from rayhist_server import chosen, query_params, wire
from rayhist_server.access import PUBLIC
from rayhist_server.answers import json_answer, text_answer
from rayhist_server.pages import ASSETS, asset
from rayhist_server.routes.answering import answers
from rayhist_server.services import Services
from rayhist_server.session_scope import PAGE
from rayhist_server.sessions import MAX_LIMIT, Page, address

_PAGE_LIMIT = 50
_MAX_SEARCH = 1000

_Request = Request[Any, Any, Any]


class Listed(msgspec.Struct, frozen=True):
    """A session as `/api/v1/sessions` shows it; times are epoch milliseconds UTC, 0 for unknown."""

    kind: ClusterKind
    namespace: str
    owner: str
    cluster: str
    session: str
    state: State
    start_ms: int
    start_is_approximate: bool
    end_ms: int
    last_seen_ms: int
    path: str
    ray_version: str
    labels: dict[str, str]
    jobs: list[JobSummary]


class Listing(msgspec.Struct, frozen=True):
    """A page of the list; `matched` sessions meet the filter, of `total`."""

    sessions: list[Listed]
    total: int
    matched: int
    offset: int
    limit: int


@answers("/", **{PAGE: True})
async def page(request: _Request, services: NamedDependency[Services]) -> Response[Any]:
    """The list of sessions, newest first.

    404 for a Ray head that forwards its dashboard's requests, once a session is chosen: it then shows its
    own frontend.
    """
    if chosen.forwarded(request.headers) and request.cookies.get(chosen.SESSION):
        return text_answer("404: Not Found", status=404)
    return await _list(request, services)


@answers("/select_cluster", **{PAGE: True})
async def select(request: _Request, services: NamedDependency[Services]) -> Response[Any]:
    """Forgets the session that was chosen, and leads to the list of sessions.

    A Ray head that forwards requests follows redirects by itself and drops their cookies: it gets the list.
    """
    headers = {"location": "./", "cache-control": "no-store"}
    if chosen.forwarded(request.headers):
        answer: Response[Any] = await _list(request, services)
    else:
        answer = Response(None, status_code=307, headers=headers)
    for cookie in chosen.cookies_for_none():
        answer.set_cookie(cookie)
    return answer


@answers("/api/v1/sessions")
async def listing(request: _Request, services: NamedDependency[Services]) -> Response[bytes]:
    """The list of sessions as JSON.  Parameters: `q` (words), `limit` (100, at most 1,000), `offset`."""
    _, found = await _asked(request, services, 100)
    sessions = [_listed(entry) for entry in found.entries]
    return json_answer(
        wire.encode(Listing(sessions, found.total, found.matched, found.offset, found.limit)),
        headers={"cache-control": "no-store"},
    )


@answers("/assets/{name:str}", **{PUBLIC: True})
async def assets(name: FromPath[str]) -> Response[bytes]:
    """Style, script and icon of this server's own pages."""
    if name not in ASSETS:
        return text_answer("404: Not Found", status=404)
    headers = {"cache-control": "public, max-age=3600"}
    return Response(asset(name), media_type=ASSETS[name], headers=headers)


LIST = [page, select]
"""What leads to the sessions' own addresses."""
HANDLERS = [listing, assets]


async def _list(request: _Request, services: Services) -> Response[str]:
    search, found = await _asked(request, services, _PAGE_LIMIT)
    return services.pages.sessions(found, search, services.store.location)


async def _asked(request: _Request, services: Services, default_limit: int) -> tuple[str, Page]:
    params = query_params.parse(request.scope["query_string"])
    search = query_params.first(params, "q")
    if len(search) > _MAX_SEARCH:
        raise BadQuery(f"q is longer than {_MAX_SEARCH} characters")
    limit = _within(query_params.integer(params, "limit", default_limit), "limit", 1, MAX_LIMIT)
    offset = _within(query_params.integer(params, "offset", 0), "offset", 0, 10**9)
    return search, await services.sessions.page(search, limit, offset)


def _within(value: int, name: str, least: int, most: int) -> int:
    if not least <= value <= most:
        raise BadQuery(f"{name} must be from {least} to {most}")
    return value


def _listed(entry: SessionEntry) -> Listed:
    cluster, marker = entry.session.cluster, entry.marker
    return Listed(
        kind=cluster.kind,
        namespace=cluster.namespace,
        owner=cluster.owner,
        cluster=cluster.name,
        session=entry.session.name,
        state=entry.state,
        start_ms=entry.start_ms,
        start_is_approximate=entry.start_is_approximate,
        end_ms=marker.end_ms,
        last_seen_ms=entry.last_seen_ms,
        path=address(entry.session),
        ray_version=marker.ray_version,
        labels=marker.labels,
        jobs=entry.jobs,
    )
