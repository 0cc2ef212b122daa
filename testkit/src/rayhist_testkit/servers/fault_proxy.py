"""A proxy before a real HTTP server, such as an object store, that does what networks do on bad days.

It speaks HTTP/1.1 on a loopback address and takes one request per connection.  Requests pass unchanged, so
that signatures stay valid, except that they ask for the connection to be closed.
"""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import threading
from collections import Counter
from enum import StrEnum
from typing import Self

import msgspec

from rayhist_testkit.servers.http import HOST

_PIECE = 64 << 10
_MOST_HEAD = 64 << 10
_PATIENCE_S = 30.0
"""How long a client or the server may keep silent before the proxy gives up."""
_RESET = struct.pack("ii", 1, 0)
"""SO_LINGER of no time: closing sends RST."""


class Mode(StrEnum):
    """How a request is treated."""

    GOOD = "good"
    REFUSED = "refused"
    """Nobody listens."""
    SLOW_DOWN = "slow-down"
    """503 SlowDown with Retry-After, as S3 answers when it is busy."""
    BROKEN = "broken"
    """500 InternalError."""
    DENIED = "denied"
    """403 AccessDenied."""
    HANGING = "hanging"
    """The request is taken, and nothing ever comes back."""
    RESET_BEFORE = "reset-before"
    """The connection is reset while the request is being sent; the server never sees it."""
    RESET_AFTER = "reset-after"
    """The server has done it, but the connection is reset instead of an answer."""
    CUT_REQUEST = "cut-request"
    """The server gets the first half of the body only."""
    CUT_ANSWER = "cut-answer"
    """The client gets the answer's head and half of its body; of one without a body half of its head."""


class _Answer(msgspec.Struct, frozen=True):
    status: str
    code: str
    message: str


_ANSWERS = {
    Mode.SLOW_DOWN: _Answer("503 Service Unavailable", "SlowDown", "Please reduce your request rate."),
    Mode.BROKEN: _Answer("500 Internal Server Error", "InternalError", "We encountered an internal error."),
    Mode.DENIED: _Answer("403 Forbidden", "AccessDenied", "Access Denied."),
}


class _State(msgspec.Struct, frozen=True):
    mode: Mode
    share: float
    over: threading.Event
    """Set when another state follows."""


class FaultProxy:
    """Listens on a free port from `__enter__` to `__exit__`; `become` changes how requests are treated."""

    def __init__(self, port: int, *, seed: int = 0, retry_after_s: int = 1) -> None:
        """`port` is where the real server listens on this machine."""
        self._upstream = port
        self._chance = random.Random(seed)  # noqa: S311 - which request is hit guards nothing
        self._retry_after_s = retry_after_s
        self._state = _State(Mode.GOOD, 1.0, threading.Event())
        self._port = 0
        self._listener: socket.socket | None = None
        self.treated: Counter[Mode] = Counter()
        """How many requests were treated in which way."""

    @property
    def port(self) -> int:
        return self._port

    @property
    def endpoint(self) -> str:
        return f"http://{HOST}:{self._port}"

    def become(self, mode: Mode, *, share: float = 1.0) -> None:
        """Treat this share of the requests so from now on, and the others well; what hangs is reset."""
        before, self._state = self._state, _State(mode, share, threading.Event())
        before.over.set()
        if mode is Mode.REFUSED:
            self._close()
        elif self._listener is None:
            self._listen()

    def __enter__(self) -> Self:
        self._listen()
        return self

    def __exit__(self, *_: object) -> None:
        self._state.over.set()
        self._close()

    def _listen(self) -> None:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, self._port))
        listener.listen(128)
        self._port = listener.getsockname()[1]
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def _close(self) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits for a client
            listener.close()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        client.settimeout(_PATIENCE_S)
        with client, contextlib.suppress(OSError):
            request = _read_head(client)
            if request is None:
                return
            state = self._state
            mode = state.mode if self._chance.random() < state.share else Mode.GOOD
            self.treated[mode] += 1
            if mode in _ANSWERS:
                self._refuse(client, request, _ANSWERS[mode])
            elif mode is Mode.HANGING:
                state.over.wait()
                _reset(client)
            elif mode in {Mode.RESET_BEFORE, Mode.REFUSED}:
                _reset(client)
            else:
                self._forward(client, request, mode)

    def _refuse(self, client: socket.socket, request: _Request, answer: _Answer) -> None:
        for _ in request.body(client):
            pass
        text = f"<Error><Code>{answer.code}</Code><Message>{answer.message}</Message></Error>"
        head = f"HTTP/1.1 {answer.status}\r\nContent-Type: application/xml\r\nConnection: close\r\n"
        if answer.code == "SlowDown":
            head += f"Retry-After: {self._retry_after_s}\r\n"
        body = b"" if request.head.startswith(b"HEAD ") else text.encode()
        client.sendall(f"{head}Content-Length: {len(text)}\r\n\r\n".encode() + body)

    def _forward(self, client: socket.socket, request: _Request, mode: Mode) -> None:
        with socket.create_connection((HOST, self._upstream), timeout=_PATIENCE_S) as server:
            server.sendall(_closing(request.head))
            room = request.length // 2 if mode is Mode.CUT_REQUEST else request.length
            for piece in request.body(client):
                server.sendall(piece[:room])
                room -= min(room, len(piece))
            if mode is Mode.CUT_REQUEST:
                _reset(client)
                return
            answer = list(iter(lambda: server.recv(_PIECE), b"")) if mode is not Mode.GOOD else []
            if mode is Mode.RESET_AFTER:
                _reset(client)
            elif mode is Mode.CUT_ANSWER:
                client.sendall(_first_half(b"".join(answer)))
            else:
                while piece := server.recv(_PIECE):
                    client.sendall(piece)


class _Request(msgspec.Struct, frozen=True):
    """A request's head, what was already read of its body, and the body's length."""

    head: bytes
    begun: bytes
    length: int

    def body(self, client: socket.socket) -> _Body:
        return _Body(client, self.begun, self.length)


class _Body:
    """The pieces of a body, read from the client as they are asked for."""

    def __init__(self, client: socket.socket, begun: bytes, length: int) -> None:
        self._client = client
        self._begun = begun
        self._left = length

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> bytes:
        if not self._left:
            raise StopIteration
        piece, self._begun = self._begun, b""
        piece = piece or self._client.recv(min(_PIECE, self._left))
        if not piece:
            raise ConnectionError("the client went away")
        self._left -= len(piece)
        return piece


def _read_head(client: socket.socket) -> _Request | None:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = client.recv(_PIECE)
        if not piece or len(data) > _MOST_HEAD:
            return None
        data += piece
    head, _, begun = data.partition(b"\r\n\r\n")
    return _Request(head, begun, _length(head))


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return int(value)
    return 0


def _closing(head: bytes) -> bytes:
    """The head with the wish that the connection ends with the answer."""
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
    return b"\r\n".join([*lines, b"Connection: close", b"", b""])


def _first_half(answer: bytes) -> bytes:
    head, gap, body = answer.partition(b"\r\n\r\n")
    return head + gap + body[: len(body) // 2] if body else head[: len(head) // 2]


def _reset(client: socket.socket) -> None:
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    client.close()
