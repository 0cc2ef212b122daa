"""A base for the small servers that stand in for what cannot be had: they enforce the real ones' rules."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import parse_qsl, urlsplit

import msgspec

from rayhist_testkit.servers.http import HOST


class Request(msgspec.Struct, frozen=True):
    """What was asked: the target as sent (a path, or a whole URL through a proxy), headers in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    def fields(self) -> dict[str, str]:
        """The query's and the form's fields."""
        return dict(parse_qsl(urlsplit(self.target).query) + parse_qsl(self.body.decode("utf-8", "replace")))


class Answer(msgspec.Struct, frozen=True):
    status: int
    body: bytes = b""
    headers: dict[str, str] = {}


class ThreadedServer:
    """Listens on a free port of a loopback address from `__enter__` to `__exit__`; override `answer`."""

    def __init__(self) -> None:
        self._server: ThreadingHTTPServer | None = None
        self.requests = 0
        """How many there have been."""

    def answer(self, request: Request) -> Answer:
        raise NotImplementedError

    @property
    def endpoint(self) -> str:
        assert self._server is not None, "not running"
        return f"http://{HOST}:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._server = _Listener((HOST, 0), _handler(self))
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def _handler(server: ThreadedServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _any(self) -> None:
            server.requests += 1
            length = int(self.headers.get("content-length") or 0)
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = server.answer(Request(self.command, self.path, headers, self.rfile.read(length)))
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            if "content-length" not in {name.lower() for name in answer.headers}:
                self.send_header("content-length", str(len(answer.body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer.body)

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _any  # noqa: N815 - the base class calls them so

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class calls it so
            """Not to the test's output."""

    return Handler
