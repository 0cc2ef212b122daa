"""What all routes below a session share: which session it is, its view, and `304` for what did not change."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

from litestar import Request
from litestar.datastructures import Headers, MutableScopeHeaders
from litestar.enums import ScopeType
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

from rayhist.auth import Principal
from rayhist.ids import Cluster, Session
from rayhist_server import query_params
from rayhist_server.browser import is_browser
from rayhist_server.services import Services
from rayhist_server.sessions import Address
from rayhist_server.view import View

NO_INDEX = "no_index"
"""Key of `opt` for handlers that answer without the session's index."""

KIND = "kind"
"""Key of `opt` for the `ClusterKind` that an address begins with."""

WAIT_S = 25.0
"""How long a call waits for a replay; shorter than the patience of common proxies."""

PAGE_WAIT_S = 0.5
"""How long a page waits before it shows the progress instead."""

PAGE = "page"
"""Key of `opt` for handlers whose answers people look at: their failures are pages too."""

_SESSION = "scope.session"
_LAST_KNOWN = "scope.last_known"
_VIEW = "scope.view"


class SessionRequest(Request[Principal, Any, Any]):
    """A request below a session."""

    @property
    def recorded(self) -> Session:
        return cast("Session", self.scope["state"][_SESSION])

    @property
    def last_known(self) -> bool:
        """Whether it is about the session as it was last seen."""
        return cast("bool", self.scope["state"][_LAST_KNOWN])

    @property
    def view(self) -> View:
        return cast("View", self.scope["state"][_VIEW])

    @property
    def params(self) -> query_params.Params:
        """Raises `BadQuery`."""
        return query_params.parse(self.scope["query_string"])

    @property
    def browser(self) -> bool:
        """Whether it looks like a browser's, so that secrets are left out of the answer."""
        return is_browser(self.headers)


def view_of(scope: Scope) -> View | None:
    """The view that a request was answered from, if it got that far."""
    return cast("View | None", scope["state"].get(_VIEW))


@asynccontextmanager
async def opened(scope: Scope, wait_s: float) -> AsyncIterator[View]:
    """Open the session that a request is about; its view is the request's from then on.

    Raises what `Loader.use` raises.
    """
    services: Services = scope["litestar_app"].state.services
    state = scope["state"]
    async with services.loader(last_known=state[_LAST_KNOWN]).use(state[_SESSION], wait_s) as view:
        state[_VIEW] = view
        yield view


class SessionScope(ASGIMiddleware):
    """Finds and opens the session; it stays open until the last byte of the answer was sent."""

    scopes = (ScopeType.HTTP,)

    def __init__(self, find: Callable[[Scope], Address]) -> None:
        """`find` says which session a request is about; it may raise `BadIdentifier`.

        Litestar copies a router with all that is in it, so the services come with the application's state.
        """
        self._find = find

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        assert scope["type"] == ScopeType.HTTP
        services: Services = scope["litestar_app"].state.services
        options = scope["route_handler"].opt
        wanted = self._find(scope)
        session = await services.sessions.resolve(wanted)
        scope["state"][_SESSION] = session
        scope["state"][_LAST_KNOWN] = wanted.last_known
        if options.get(NO_INDEX):
            await next_app(scope, receive, send)
            return
        async with opened(scope, WAIT_S) as view:
            await _answer(scope, receive, send, next_app, f"{services.release}-{view.state}")


def in_path(scope: Scope) -> Address:
    """The address that a request's path names.  Raises `BadIdentifier`."""
    kind, names = scope["route_handler"].opt[KIND], scope["path_params"]
    cluster = Cluster(kind, names["namespace"], names["cluster"], names.get("owner", ""))
    return Address.of(cluster, names["session"])


async def _answer(scope: HTTPScope, receive: Receive, send: Send, next_app: ASGIApp, state: str) -> None:
    """Answer 304 if the client has what it would get; `state` names all that the answer depends on."""
    headers = Headers.from_scope(scope)
    tag = f'W/"{state}-{"browser" if is_browser(headers) else "tool"}"'
    if scope["method"] in {"GET", "HEAD"} and _matches(headers.get("if-none-match", ""), tag):
        await _send_unchanged(send, tag)
        return

    async def tagging(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] == 200:
            started = MutableScopeHeaders.from_message(message)
            if "cache-control" not in started:
                started["cache-control"] = "private, no-cache"
                started["etag"] = tag
        await send(message)

    await next_app(scope, receive, tagging)


def _matches(wanted: str, tag: str) -> bool:
    return bool(wanted) and tag in (one.strip() for one in wanted.split(","))


async def _send_unchanged(send: Send, tag: str) -> None:
    headers = [(b"etag", tag.encode()), (b"cache-control", b"private, no-cache")]
    await send({"type": "http.response.start", "status": 304, "headers": headers})
    await send({"type": "http.response.body", "body": b"", "more_body": False})
