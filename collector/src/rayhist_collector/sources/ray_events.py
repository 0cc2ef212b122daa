"""The `ray-events` source: the endpoint that Ray's aggregator agent posts its events to.

Ray (2.60) waits 3 s for the answer, and repeats a batch that was answered otherwise than by 200 for ever,
with everything behind it waiting.  So whatever comes is answered 200, as soon as it is on local disk; what
cannot be believed goes to quarantine.  Only a disk that takes nothing is answered 503: then Ray's buffer is
the safer place.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from pathlib import Path
from typing import Annotated, Any

import msgspec

from rayhist.config import ByteSize, Port
from rayhist.errors import ConfigError, Unavailable
from rayhist.hookspecs import hookimpl
from rayhist.kinds import SourceKind
from rayhist.source import Intake, Source, SourceContext
from rayhist_collector.batch import split
from rayhist_collector.reporting import say

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_KEEP_ALIVE_S = 75
"""Longer than the 15 s after which Ray's client gives up an idle connection: it never meets a closed one."""
_BIG_BYTES = 4 << 20
_EVENT_PATHS = frozenset({"/v1/events", "/v1/events/"})


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of the `ray-events` source."""

    host: str = "127.0.0.1"
    """Address to listen on.  Ray's exporter sends no credential, so keep it on loopback."""
    port: Port = 8084
    """Port; 0 takes a free one.  Not 8080, which is Ray's own metrics port."""
    max_body: ByteSize = ByteSize(64 << 20)
    """Longer bodies are cut off there; Ray's are about a megabyte."""
    shutdown_timeout_s: Annotated[int, msgspec.Meta(ge=1)] = 3
    """Seconds that requests under way may take at the end."""


class Receiver:
    """The ASGI application."""

    def __init__(self, intake: Intake, options: Options, log: Any) -> None:
        self._intake = intake
        self._options = options
        self._log = log
        self._warned = False

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        match scope["method"], scope["path"]:
            case "POST", path if path in _EVENT_PATHS:
                await self._take(receive, send)
            case "GET" | "HEAD", "/healthz":
                await _answer(send, 200, b"ok\n")
            case "GET" | "HEAD", "/metrics":
                text = await asyncio.to_thread(self._intake.metrics)
                await _answer(send, 200, text, b"text/plain; version=0.0.4; charset=utf-8")
            case "POST", path:
                self._warn(path)
                await _answer(send, 404, b"post events to /v1/events\n")
            case _:
                await _answer(send, 404, b"there are /v1/events, /healthz and /metrics\n")

    async def _take(self, receive: Receive, send: Send) -> None:
        try:
            body, cut = await self._body(receive)
        except ConnectionError:
            return  # not the whole batch; it comes again
        if cut:
            self._intake.lost("event batches", reason=f"longer than {self._options.max_body} bytes: cut off")
        try:
            lines = split(body) if len(body) < _BIG_BYTES else await asyncio.to_thread(split, body)
            await self._intake.events(lines)
        except Unavailable as error:
            say(self._log, "events are refused", error)
            await _answer(send, 503, b"the collector's disk takes nothing\n")
            return
        await _answer(send, 200, b"ok\n")

    async def _body(self, receive: Receive) -> tuple[bytes, bool]:
        """The body up to the limit, and whether there was more."""
        pieces = []
        room = int(self._options.max_body)
        more = True
        cut = False
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ConnectionError
            piece = message.get("body", b"")
            cut = cut or len(piece) > room
            pieces.append(piece[:room])
            room -= len(pieces[-1])
            more = message.get("more_body", False)
        return b"".join(pieces), cut

    def _warn(self, path: str) -> None:
        if not self._warned:
            self._warned = True
            self._log.warning(
                "something is posted to an unknown path",
                path=path[:200],
                remedy="set Ray's export address as `rayhist collect --print-ray-env` says",
            )


async def _answer(send: Send, status: int, body: bytes, kind: bytes = b"text/plain; charset=utf-8") -> None:
    headers = [(b"content-type", kind), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class RayEvents(Source):
    """Listens until cancelled; the last source to stop, since Ray sends until its own end."""

    stops_last = True

    def __init__(self, context: SourceContext, options: Options) -> None:
        self._context = context
        self._options = options

    async def run(self, intake: Intake) -> None:
        import uvicorn  # noqa: PLC0415 - heavy, and only needed once a collector runs

        class Server(uvicorn.Server):
            @contextlib.contextmanager
            def capture_signals(self) -> Iterator[None]:
                """The collector has its own handlers; uvicorn's would take their place."""
                yield

        listener = _listen(self._options)
        address = _url(listener)
        (self._context.state_dir / "address").write_text(address, encoding="utf-8")
        server = Server(
            uvicorn.Config(
                Receiver(intake, self._options, self._context.log),
                access_log=False,
                log_config=None,
                lifespan="off",
                server_header=False,
                ws="none",
                timeout_keep_alive=_KEEP_ALIVE_S,
                timeout_graceful_shutdown=self._options.shutdown_timeout_s,
            )
        )
        self._context.log.info("waiting for Ray's events", url=f"{address}/v1/events")
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            await asyncio.shield(serving)
        finally:
            server.should_exit = True
            await asyncio.wait([serving])
            listener.close()


def _listen(options: Options) -> socket.socket:
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((options.host, options.port))
    except (OSError, UnicodeError) as error:
        listener.close()
        raise ConfigError(
            f"cannot listen on {options.host}:{options.port}: {getattr(error, 'strerror', None) or error}",
            remedy="stop what uses the port, or set port in [collector.source_options.ray-events]"
            " and in Ray's export address",
        ) from error
    listener.listen(128)
    return listener


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@hookimpl
def rayhist_source() -> SourceKind:
    return SourceKind(api=1, name="ray-events", options=Options, open=RayEvents)


def address_file(state_dir: Path) -> Path:
    """Where a running source writes the address it listens on."""
    return state_dir / "address"
