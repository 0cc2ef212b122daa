"""Asking Ray's dashboard, in threads, within bounds of time and size."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

import msgspec
import urllib3
from urllib3.exceptions import HTTPError, ReadTimeoutError

from rayhist.config import Secret
from rayhist.errors import ConfigError, DataError, Unavailable

_MAX_BODY_BYTES = 128 << 20
_CACHED = ("/nodes", "/logical/actors", "/events")
"""What Ray answers from a cache that serves an expired answer once more (`aiohttp_cache`)."""
# What looks like a browser gets `env_vars` redacted (Ray 2.60).  The archive is read by browsers, too.
_BROWSER = "Mozilla/5.0 (compatible; rayhist-collector)"


class ConnectionLost(Unavailable):
    """Nobody listens there, or the connection broke; what comes back may be another session's dashboard."""


class Reply(msgspec.Struct, frozen=True):
    """An answer: HTTP status, body, media type, and the seconds it took."""

    status: int
    body: bytes
    kind: str
    seconds: float


class DashboardClient:
    """One dashboard.  Safe on several threads."""

    def __init__(self, address: str, token: Secret | None = None, *, connections: int = 8) -> None:
        self.address = address.rstrip("/")
        self._token = token
        self._pool = urllib3.PoolManager(maxsize=connections, retries=False)

    def get(self, endpoint: str, *, timeout_s: float) -> Reply:
        """Ask for a path with its query.

        Raises `Unavailable` if there is no answer in time, `ConnectionLost` if there cannot be one, and
        `DataError` if it is longer than bearable.
        """
        started = time.monotonic()
        try:
            response = self._pool.request(
                "GET",
                self.address + _fresh(endpoint),
                headers=self._headers(),
                timeout=urllib3.Timeout(connect=min(3.0, timeout_s), read=timeout_s),
                redirect=False,
                preload_content=False,
            )
            try:
                body = response.read(_MAX_BODY_BYTES + 1)
            finally:
                response.release_conn()
        except ReadTimeoutError as error:
            raise Unavailable(f"{self.address}{endpoint}: no answer in {timeout_s} s") from error
        except (HTTPError, OSError) as error:
            raise ConnectionLost(f"{self.address}{endpoint}: {error}") from error
        if len(body) > _MAX_BODY_BYTES:
            raise DataError(f"{endpoint}: the answer is longer than {_MAX_BODY_BYTES} bytes")
        kind = response.headers.get("content-type", "")
        return Reply(response.status, body, kind, time.monotonic() - started)

    def close(self) -> None:
        self._pool.clear()

    def _headers(self) -> dict[str, str]:
        headers = {"User-Agent": _BROWSER, "Accept": "application/json, text/plain, */*"}
        token = ray_token(self._token)
        return headers | ({"Authorization": f"Bearer {token}"} if token else {})


def ray_token(configured: Secret | None) -> str:
    """The token for Ray's own login: as configured, else from Ray's variables; read anew, as it may change.

    In Ray's own order: `RAY_AUTH_TOKEN`, the file `RAY_AUTH_TOKEN_PATH`, and with `RAY_AUTH_MODE=token`
    `~/.ray/auth_token`.  Raises `ConfigError` if it is configured and cannot be read.
    """
    if configured is not None:
        return configured.reveal()
    if token := os.environ.get("RAY_AUTH_TOKEN"):
        return token.strip()
    if path := os.environ.get("RAY_AUTH_TOKEN_PATH"):
        try:
            return Path(path).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"$RAY_AUTH_TOKEN_PATH: {path} cannot be read: {error}") from error
    if os.environ.get("RAY_AUTH_MODE", "").strip().lower() == "token":
        with contextlib.suppress(OSError, UnicodeDecodeError, RuntimeError):
            return (Path.home() / ".ray" / "auth_token").read_text(encoding="utf-8").strip()
    return ""


def _fresh(endpoint: str) -> str:
    if not endpoint.startswith(_CACHED):
        return endpoint
    return endpoint + ("&" if "?" in endpoint else "?") + "nocache=1"
