"""Requests as bytes on the wire would make them: no client library tidies up the path."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote_to_bytes

import msgspec
from litestar import Litestar
from litestar.testing import TestClient


class Answer(msgspec.Struct):
    """What came back."""

    status: int = 0
    headers: dict[str, str] = {}
    body: bytes = b""


def ask(client: TestClient[Litestar], raw_path: bytes, query: bytes = b"", method: str = "GET") -> Answer:
    """Send a request whose path is exactly `raw_path` (percent-encoded), as a web server would hand it on."""
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote_to_bytes(raw_path).decode("utf-8", "replace"),
        "raw_path": raw_path,
        "query_string": query,
        "root_path": "",
        "headers": [(b"host", b"testserver")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    answer = Answer()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            answer.body += message.get("body", b"")

    client.blocking_portal.call(client.app, scope, receive, send)
    return answer
