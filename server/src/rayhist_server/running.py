"""Run the application until a signal: bind, say where, serve, stop gracefully."""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import structlog
import uvicorn

from rayhist import config
from rayhist.config import Config
from rayhist.errors import ConfigError
from rayhist.plugins import Plugins
from rayhist_server import logging_setup
from rayhist_server.app import build
from rayhist_server.hosts import LocalNames, is_local
from rayhist_server.sessions import parse_address

_GRACE_S = 10


def serve(loaded: Config, plugins: Plugins, session: str | None) -> int:
    """Serve until SIGINT or SIGTERM; returns the exit status.  Raises `ConfigError` and `PluginError`."""
    logging_setup.configure(loaded.log)
    app = build(loaded, plugins, only=parse_address(session) if session else None)
    listener = _listen(loaded.server)
    _warn_if_open(loaded)
    server = _Server(
        uvicorn.Config(
            LocalNames(app, loaded.server.public_url) if is_local(loaded.server.host) else app,
            lifespan="on",
            ws="none",  # Ray's one websocket follows a growing log; a recorded one is answered in words
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_GRACE_S,
        ),
        f"Ray History Server: {_address(loaded.server, listener)}  (archive: {loaded.storage_url()})",
    )
    server.run(sockets=[listener])
    return 0 if server.started else 1


class _Server(uvicorn.Server):
    """Says where it serves once it does, and ends with status 0 when it is told to stop."""

    def __init__(self, settings: uvicorn.Config, announcement: str) -> None:
        super().__init__(settings)
        self._announcement = announcement

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            sys.stdout.write(self._announcement + "\n")
            sys.stdout.flush()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn's own, but without raising the signal once more at the end."""
        before = {number: signal.signal(number, self._stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.handle_exit(number, frame)


def _listen(server: config.Server) -> socket.socket:
    family = socket.AF_INET6 if ":" in server.host else socket.AF_INET
    try:
        return socket.create_server((server.host, server.port), family=family, backlog=2048)
    except OSError as error:
        raise ConfigError(
            f"cannot listen on {server.host} port {server.port}: {error.strerror or error}",
            remedy="set [server] host and port, or --host and --port; port 0 takes a free one",
        ) from error


def _address(server: config.Server, listener: socket.socket) -> str:
    if server.public_url:
        return server.public_url
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def _warn_if_open(loaded: Config) -> None:
    if not is_local(loaded.server.host) and loaded.auth.kind == "none":
        log: structlog.typing.FilteringBoundLogger = structlog.get_logger("rayhist.serve")
        log.warning(
            "open_to_everybody",
            host=loaded.server.host,
            remedy="everybody who reaches this address can read every session; set [auth] kind",
        )
