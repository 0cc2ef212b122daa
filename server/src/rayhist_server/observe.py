"""What all answers have in common: safe headers, no body for HEAD, a line in the log, a count."""

from __future__ import annotations

import time

import structlog
from litestar.datastructures import MutableScopeHeaders
from litestar.enums import ScopeType
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from rayhist_server.metrics import Metrics

_STARTED = "observe.started"
_STATUS = "observe.status"
_PROBES = frozenset({"/healthz", "/livez", "/readyz", "/readz", "/metrics"})
"""These are asked for ever, as are unchanged answers: not worth a line in the log."""
_SAFE = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Clocked(ASGIMiddleware):
    """Notes when a request came in."""

    scopes = (ScopeType.HTTP,)

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        scope["state"][_STARTED] = time.monotonic()
        await next_app(scope, receive, send)


class Observer:
    """Hooks that see every message of every answer, also of those that no route made."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger("rayhist.request")

    async def before_send(self, message: Message, scope: Scope) -> None:
        if message["type"] == "http.response.start":
            scope["state"][_STATUS] = message["status"]
            headers = MutableScopeHeaders.from_message(message)
            for name, value in _SAFE.items():
                headers.setdefault(name, value)
        elif message["type"] == "http.response.body" and scope["type"] == ScopeType.HTTP:
            if scope["method"] == "HEAD":
                message["body"] = b""
            if not message["more_body"]:
                self._done(scope)

    def _done(self, scope: Scope) -> None:
        assert scope["type"] == ScopeType.HTTP
        now = time.monotonic()
        seconds = now - scope["state"].get(_STARTED, now)
        status = scope["state"].get(_STATUS, 0)
        route = scope.get("path_template") or "(none)"
        self._metrics.requests.labels(route, scope["method"], status).inc()
        self._metrics.seconds.labels(route).observe(seconds)
        log = self._log.debug if status == 304 or route in _PROBES else self._log.info
        log("request", method=scope["method"], path=scope["path"], status=status, ms=round(1000 * seconds, 1))
