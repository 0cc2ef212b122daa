"""Logging in: a form of this server's own, and what the dashboard's frontend asks for.

Texts and cookie: `ray.dashboard.http_server_head` of Ray 2.60.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from litestar import Request, Response, post
from litestar.di import NamedDependency
from litestar.enums import RequestEncodingType
from litestar.params import Body

from rayhist.errors import Refused
from rayhist_server import wire
from rayhist_server.access import PUBLIC, login_cookie, principal_of_token
from rayhist_server.answers import json_answer, text_answer
from rayhist_server.routes.answering import answers
from rayhist_server.services import Services
from rayhist_server.session_scope import NO_INDEX

_Request = Request[Any, Any, Any]


class Form(msgspec.Struct):
    """The login form's fields."""

    token: str = ""
    next: str = ""


@answers("/login", **{PUBLIC: True})
async def login_page(request: _Request, services: NamedDependency[Services]) -> Response[str]:
    """The login form."""
    return services.pages.login(request.scope, "", 200, after="")


@post("/login", opt={PUBLIC: True}, status_code=303)
async def login(
    request: _Request,
    services: NamedDependency[Services],
    data: Annotated[Form, Body(media_type=RequestEncodingType.URL_ENCODED)],
) -> Response[Any]:
    """Take a token from the form and leave it as a cookie."""
    after = _local(data.next)
    try:
        await principal_of_token(services.authenticator, data.token.strip())
    except Refused as error:
        return services.pages.login(request.scope, str(error), 401, after=after)
    return Response(
        None,
        status_code=303,
        headers={"location": f"./{after}"},
        cookies=[login_cookie(request, data.token.strip())],
    )


@answers("/api/authentication_mode", **{PUBLIC: True, NO_INDEX: True})
async def authentication_mode(services: NamedDependency[Services]) -> Response[bytes]:
    """Which login the frontend has to show."""
    return json_answer(wire.encode({"authentication_mode": services.authenticator.mode}))


@post("/api/authenticate", opt={PUBLIC: True, NO_INDEX: True}, status_code=200)
async def authenticate(request: _Request, services: NamedDependency[Services]) -> Response[bytes]:
    """Check the bearer token and leave it as a cookie."""
    if services.authenticator.mode == "disabled":
        return text_answer("Unauthorized: Token authentication is not enabled", status=401)
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        return text_answer("Unauthorized: Missing authentication token", status=401)
    await principal_of_token(services.authenticator, token.strip())
    answer = json_answer(wire.encode({"status": "authenticated", "message": "Token is valid"}))
    answer.set_cookie(login_cookie(request, token.strip()))
    return answer


HANDLERS = [login_page, login]
SESSION_HANDLERS = [authentication_mode, authenticate]


def _local(after: str) -> str:
    """A path below this server's root, or the root: never another host's address."""
    bad = (
        after.startswith("/")
        or any(c in after for c in '\\:?#"<>')
        or not after.isascii()
        or not after.isprintable()
    )
    return "" if bad else after
