"""Against DNS rebinding: a server that only this machine shall reach answers to this machine's names only.

Otherwise any website could give its own name the address 127.0.0.1, and its scripts could read every session
with the browser of somebody on this machine.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send

_REFUSAL = b"This server answers to the names of this machine only; set [server] public_url for another.\n"


class LocalNames:
    """Lets requests through whose `Host` is a loopback name, or the host of `public_url`."""

    def __init__(self, app: ASGIApp, public_url: str) -> None:
        self._app = app
        self._public = urlsplit(public_url).hostname or ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP or self._known(scope["headers"]):
            await self._app(scope, receive, send)
            return
        headers = [(b"content-type", b"text/plain"), (b"content-length", b"%d" % len(_REFUSAL))]
        await send({"type": "http.response.start", "status": 421, "headers": headers})
        await send({"type": "http.response.body", "body": _REFUSAL, "more_body": False})

    def _known(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        given = next((value.decode("latin-1") for name, value in headers if name == b"host"), "")
        try:
            host = urlsplit(f"//{given}").hostname or ""
        except ValueError:
            return False
        return is_local(host) or host == self._public


def is_local(host: str) -> bool:
    """Whether a host's name or address means this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
