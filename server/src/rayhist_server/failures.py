"""From an error to an answer: the right status, what is wrong, and what to do about it; never a stack trace.

A session that ended must not answer 401 or 403 for anything but a missing or wrong credential: the
dashboard's frontend opens its token dialog at those.
"""

from __future__ import annotations

import math
import sqlite3
import uuid
from collections.abc import Callable
from typing import Any

import structlog
from litestar import Request, Response
from litestar.exceptions import HTTPException
from litestar.types import ExceptionHandlersMap

from rayhist.errors import BadIdentifier, DataError, Denied, NotFound, RayhistError, Refused, Unavailable
from rayhist.logs import LogError
from rayhist.query import BadQuery
from rayhist_server import wire
from rayhist_server.answers import json_answer, text_answer
from rayhist_server.frontend import NoFrontend
from rayhist_server.loader import Loading
from rayhist_server.pages import Pages
from rayhist_server.session_scope import PAGE, view_of
from rayhist_server.view import View

_Request = Request[Any, Any, Any]

TEXT = "text"
"""Key of `opt` for handlers whose failures are plain text although they stand below `/api/v0/`."""

READ_ONLY = (
    "This is a recorded session: it can be read, but nothing in it can be changed, started or stopped."
)
_RETRY_S = 5
_DAMAGE = frozenset(
    {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR}
)


class Failures:
    """The application's exception handlers."""

    def __init__(self, pages: Pages, distrust: Callable[[View], None]) -> None:
        self._pages = pages
        self._distrust = distrust
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger("rayhist.request")

    def handlers(self) -> ExceptionHandlersMap:
        return {
            RayhistError: self.known,
            HTTPException: self.http,
            sqlite3.DatabaseError: self.database,
            Exception: self.unexpected,
        }

    def known(self, request: _Request, error: RayhistError) -> Response[Any]:
        if isinstance(error, DataError) and isinstance(error.__cause__, sqlite3.DatabaseError):
            return self.database(request, error.__cause__)
        status = status_of(error)
        answer = self._answer(request, error, status)
        if isinstance(error, Unavailable):
            answer.set_header("retry-after", str(math.ceil(error.retry_after_s or _RETRY_S)))
        if status == 401:
            answer.set_header("www-authenticate", "Bearer")
        if status >= 500 and not isinstance(error, Loading | LogError):
            self._log.error("failed", path=request.scope["path"], error=str(error), remedy=error.remedy)
        return answer

    def _answer(self, request: _Request, error: RayhistError, status: int) -> Response[Any]:
        if wants_page(request):
            if isinstance(error, Loading):
                return self._pages.progress(error, request.scope)
            if isinstance(error, Refused):
                return self._pages.login(request.scope, str(error), status, after=after_login(request))
            return self._pages.problem(_title(error), str(error), error.remedy, request.scope, status)
        words = f"{error}\nremedy: {error.remedy}" if error.remedy else str(error)
        if _option(request, TEXT) or isinstance(error, Refused):
            return text_answer(words, status=status)
        if "/api/v0/" in request.scope["path"]:
            return json_answer(wire.state_error(words), status=status)
        if "/api/v1/" in request.scope["path"]:
            return json_answer(wire.encode({"error": str(error), "remedy": error.remedy}), status=status)
        return text_answer(words, status=status)

    @staticmethod
    def http(_request: _Request, error: HTTPException) -> Response[Any]:
        if error.status_code == 404:
            return text_answer("404: Not Found", status=404)
        if error.status_code == 405:
            return text_answer(READ_ONLY, status=405, headers={"allow": "GET, HEAD, OPTIONS"})
        return text_answer(error.detail, status=error.status_code)

    def database(self, request: _Request, error: sqlite3.DatabaseError) -> Response[Any]:
        """A damaged index is set aside, and the next request builds it anew; anything else is a fault."""
        view = view_of(request.scope)
        if view is None or not is_damage(error):
            return self.unexpected(request, error)
        self._distrust(view)
        message = f"the cached index of {view.session.path} was damaged ({error}); it is being built anew"
        return self.known(request, Unavailable(message, retry_after_s=1))

    def unexpected(self, request: _Request, error: Exception) -> Response[Any]:
        reference = uuid.uuid4().hex[:12]
        self._log.error("fault", path=request.scope["path"], reference=reference, exc_info=error)
        return text_answer(
            f"500 Internal Server Error\n\nA fault of this server; its log says more under {reference}.",
            status=500,
        )


def status_of(error: RayhistError) -> int:
    """The status for an error: the caller's mistakes are 4xx, the archive's troubles 503."""
    if isinstance(error, LogError):
        return error.status
    if isinstance(error, Refused):
        return 403 if error.authenticated else 401
    if isinstance(error, BadQuery | BadIdentifier):
        return 400
    if isinstance(error, NotFound):
        return 404
    if isinstance(error, Unavailable | Denied | NoFrontend):
        return 503
    return 500


def _title(error: RayhistError) -> str:
    if isinstance(error, NoFrontend):
        return "The dashboard's frontend is missing"
    return "Not found" if isinstance(error, NotFound) else "This cannot be shown"


def wants_page(request: _Request) -> bool:
    """Whether a browser asks for something that people look at."""
    return _option(request, PAGE) and "text/html" in request.headers.get("accept", "")


def _option(request: _Request, name: str) -> bool:
    handler = request.scope.get("route_handler")
    return bool(handler and handler.opt.get(name))


def after_login(request: _Request) -> str:
    """Where to go after the login: the page that was asked for, relative to the server's root."""
    return str(request.scope["raw_path"].partition(b"?")[0].decode("latin-1").lstrip("/"))


def is_damage(error: sqlite3.DatabaseError) -> bool:
    """Whether the index file is broken, rather than our question."""
    # A file that was cut to nothing is a fine, empty database to a connection that is opened only then.
    return error.sqlite_errorcode & 0xFF in _DAMAGE or str(error).startswith("no such table")
