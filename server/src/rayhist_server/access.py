"""Who asks: from a request's headers to a principal, and the cookie that a browser's login leaves.

As Ray 2.60's dashboard with `RAY_AUTH_MODE=token`: same cookie, same texts, same two public routes.
"""

from __future__ import annotations

from typing import Any

from litestar import Request
from litestar.datastructures import Cookie, Headers
from litestar.enums import ScopeType
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Receive, Scope, Send

from rayhist.auth import Authenticator, Principal
from rayhist.auth_token import COOKIE

PUBLIC = "public"
"""Key of `opt` for handlers that everybody may call."""

_MONTH_S = 30 * 24 * 3600


class Access(ASGIMiddleware):
    """Lets nobody through whom the authenticator refuses; leaves the principal in `scope["user"]`."""

    scopes = (ScopeType.HTTP, ScopeType.WEBSOCKET)

    def __init__(self, authenticator: Authenticator) -> None:
        self._authenticator = authenticator

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        if not scope["route_handler"].opt.get(PUBLIC):
            scope["user"] = await self._authenticator.authenticate(Headers.from_scope(scope))
        await next_app(scope, receive, send)


async def principal_of_token(authenticator: Authenticator, token: str) -> Principal:
    """Who holds the token.  Raises `Refused` or `Unavailable`."""
    return await authenticator.authenticate({"authorization": f"Bearer {token}"})


def login_cookie(request: Request[Any, Any, Any], token: str) -> Cookie:
    """The cookie that carries the token; sent back to this server only, and unreadable for scripts."""
    return Cookie(
        key=COOKIE,
        value=token,
        max_age=_MONTH_S,
        path="/",
        httponly=True,
        samesite="strict",
        secure=request.scope.get("scheme") == "https",
    )
