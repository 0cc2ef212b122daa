"""Compress large answers, on a thread, for clients that take gzip."""

from __future__ import annotations

import asyncio
import gzip

from litestar.datastructures import MutableScopeHeaders
from litestar.enums import ScopeType
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, HTTPResponseStartEvent, Message, Receive, Scope, Send

_MIN_BYTES = 1024
_LEVEL = 4
_COMPRESSIBLE = ("application/json", "text/", "application/javascript", "image/svg+xml")


class Compression(ASGIMiddleware):
    """Compresses an answer that comes in one piece; a stream passes through as it is."""

    scopes = (ScopeType.HTTP,)

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        if not _takes_gzip(scope):
            await next_app(scope, receive, send)
            return
        held: list[HTTPResponseStartEvent] = []

        async def compressing(message: Message) -> None:
            if message["type"] == "http.response.start":
                held.append(message)
                return
            if held and message["type"] == "http.response.body":
                start = held.pop()
                if not message["more_body"]:
                    message["body"] = await _compressed(start, message["body"])
                await send(start)
            await send(message)

        await next_app(scope, receive, compressing)


def _takes_gzip(scope: Scope) -> bool:
    return any(name == b"accept-encoding" and b"gzip" in value for name, value in scope["headers"])


async def _compressed(start: HTTPResponseStartEvent, body: bytes) -> bytes:
    """The body as it shall be sent; the headers of `start` are made to match."""
    headers = MutableScopeHeaders.from_message(start)
    kind = headers.get("content-type", "")
    if len(body) < _MIN_BYTES or "content-encoding" in headers or not kind.startswith(_COMPRESSIBLE):
        return body
    packed = await asyncio.to_thread(gzip.compress, body, _LEVEL, mtime=0)
    headers["content-encoding"] = "gzip"
    headers["content-length"] = str(len(packed))
    headers["vary"] = "Accept-Encoding"
    return packed
