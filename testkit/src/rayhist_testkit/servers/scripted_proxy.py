"""A proxy before a real server that spoils one request after the other as a test says, and notes what came.

For bad days that go on, and a chance of them, see `fault_proxy`.

It knows as much of HTTP/1.1 as clients of object stores use: requests with a length, one per
connection.  Signatures stay valid, since it changes neither path nor `Host`.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple, Self

import msgspec

from rayhist_testkit.ports import free_ports
from rayhist_testkit.servers.http import HOST

_LINGER_OFF = struct.pack("ii", 1, 0)
_BLOCK = 65536


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """What happens to one request: it is answered with `status`, or its answer is cut.

    `cut_after` lets so many bytes of the real answer's body pass, and then the answer ends as `ending` says;
    without it and without a status the request gets no answer at all, and ends so.
    """

    status: int = 0
    headers: tuple[str, ...] = ()
    body: str = ""
    cut_after: int | None = None
    ending: str = "close"
    """`close`: the connection ends; `reset`: it is reset; `silence`: nothing more comes."""


class Request(NamedTuple):
    """A request that came: its method, target, whole head, and when, on the monotonic clock."""

    method: str
    target: str
    head: str
    at: float

    @property
    def signed(self) -> bool:
        return "\r\nauthorization:" in self.head.lower() or "sig=" in self.target


class ScriptedProxy:
    """Use it in a `with` block; `port` is the real server's, on this machine."""

    def __init__(self, port: int) -> None:
        self._upstream = port
        [self.port] = free_ports(1)
        self.url = f"http://{HOST}:{self.port}"
        self.requests: list[Request] = []
        self._next: deque[Fault] = deque()
        self._always: Fault | None = None
        self._last: Fault | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self._end: Callable[[], object] = lambda: None
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._run()), name="fault-proxy", daemon=True
        )
        self._started = threading.Event()

    def spoil(self, *faults: Fault) -> None:
        """The next requests fail so, one after the other; those behind them pass."""
        self._always, self._last = None, None
        self._next = deque(faults)
        self.requests = []

    def spoil_all(self, fault: Fault) -> None:
        """Every request fails so from now on."""
        self.spoil()
        self._always = fault

    @property
    def signed(self) -> list[Request]:
        """The requests that came with credentials since the last `spoil`."""
        return [request for request in self.requests if request.signed]

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._thread.join()

    async def _run(self) -> None:
        ending, loop = asyncio.Event(), asyncio.get_running_loop()
        self._end = lambda: loop.call_soon_threadsafe(ending.set)
        async with await asyncio.start_server(self._serve, HOST, self.port):
            self._started.set()
            await ending.wait()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                head = await reader.readuntil(b"\r\n\r\n")
                body = await _body(reader, head)
                request = _parsed(head)
                self.requests.append(request)
                await self._answer(request, head, body, writer)
        finally:
            self._serving.discard(task)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _answer(self, request: Request, head: bytes, body: bytes, writer: asyncio.StreamWriter) -> None:
        fault = self._fault_for(request)
        if fault is None:
            await self._forward(head, body, writer, None)
        elif fault.status:
            answer = fault.body.encode() if request.method != "HEAD" else b""
            lines = (f"HTTP/1.1 {fault.status} Spoilt", f"Content-Length: {len(answer)}", "Connection: close")
            writer.write("\r\n".join([*lines, *fault.headers, "", ""]).encode() + answer)
            await writer.drain()
        else:
            if fault.cut_after is not None:
                await self._forward(head, body, writer, fault.cut_after)
            await _end(writer, fault.ending)

    def _fault_for(self, request: Request) -> Fault | None:
        if self._always is not None:
            return self._always
        if not request.signed:  # a gateway that turns everybody away does not look who it is
            return self._last
        self._last = self._next.popleft() if self._next else None
        return self._last

    async def _forward(
        self, head: bytes, body: bytes, writer: asyncio.StreamWriter, most: int | None
    ) -> None:
        """Pass the request on, and of its answer the head and at most so many bytes of the body."""
        from_server, to_server = await asyncio.open_connection(HOST, self._upstream)
        try:
            to_server.write(_closing(head) + body)
            writer.write(_closing(await from_server.readuntil(b"\r\n\r\n")))
            left = most
            while left != 0 and (block := await from_server.read(_BLOCK if left is None else left)):
                writer.write(block)
                await writer.drain()
                left = None if left is None else left - len(block)
        finally:
            to_server.close()


@contextlib.contextmanager
def unanswered() -> Iterator[int]:
    """A port at which a connection never comes to stand: whoever waits there is not let in."""
    with contextlib.ExitStack() as held:
        listening = held.enter_context(socket.socket())
        listening.bind((HOST, 0))
        listening.listen(0)
        port = listening.getsockname()[1]
        for _ in range(3):  # those that fill its queue
            waiting = held.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex((HOST, port))
        yield port


def _parsed(head: bytes) -> Request:
    text = head.decode("latin-1")
    method, target, _ = text.split("\r\n", 1)[0].split(" ", 2)
    return Request(method, target, text, time.monotonic())


async def _body(reader: asyncio.StreamReader, head: bytes) -> bytes:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return await reader.readexactly(int(value))
    return b""


def _closing(head: bytes) -> bytes:
    """The head of a message, with the connection ending behind it."""
    lines = [
        line for line in head.split(b"\r\n") if not line.lower().startswith((b"connection:", b"keep-alive:"))
    ]
    return b"\r\n".join([lines[0], b"Connection: close", *lines[1:]])


async def _end(writer: asyncio.StreamWriter, ending: str) -> None:
    await writer.drain()
    if ending == "silence":
        await asyncio.Event().wait()
    if ending == "reset":
        connection: socket.socket = writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_OFF)
        writer.transport.abort()
