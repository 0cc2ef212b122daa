"""How long an overloaded server asks to be left alone.

obstore 0.12 neither obeys `Retry-After` (RFC 9110, 10.2.3) nor shows it.  Who sends it mostly stands before
the store, such as a gateway or a limiter, and looks at no signature: so one unsigned HEAD asks again.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from datetime import UTC, datetime
from urllib.parse import urlsplit

OVERLOADED = frozenset({429, 503})
_URL = re.compile(r"Error performing [A-Z]+ (https?://\S+) in ")
_TIMEOUT_S = 5.0
_BELIEVED_S = 1.0
"""Requests that fail together ask once."""


class RetryAfter:
    """Asks the server of one store; `fallback` is an address for errors that show none.

    It goes through `proxy`, or as the environment says.
    """

    def __init__(self, fallback: str = "", certificate: bytes | None = None, proxy: str = "") -> None:
        self._fallback = fallback
        self._certificate = certificate
        self._proxy = proxy
        self._asking = asyncio.Lock()
        self._believed_until = 0.0
        self._over_at: float | None = None

    async def seconds(self, failure: str) -> float | None:
        """How long the server wants to be left alone, by the text of an error; `None` if it does not say."""
        match = _URL.search(failure)
        url = _plain(match[1]) if match else self._fallback
        if not url:
            return None
        async with self._asking:
            if time.monotonic() >= self._believed_until:
                wanted = await asyncio.to_thread(_ask, url, self._certificate, self._proxy)
                now = time.monotonic()
                self._over_at = None if wanted is None else now + wanted
                self._believed_until = now + _BELIEVED_S
        return None if self._over_at is None else max(0.0, self._over_at - time.monotonic())


def parsed(value: str | None, now: datetime) -> float | None:
    """Seconds that a `Retry-After` means, which is a number or a date; `None` if it is neither."""
    if value is None:
        return None
    if value.strip().isdecimal():
        return float(value)
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - seldom needed

    with contextlib.suppress(ValueError):
        then = parsedate_to_datetime(value)
        return max(0.0, (then.astimezone(UTC) - now).total_seconds())
    return None


def _plain(url: str) -> str:
    """Without its query, which may hold a signature."""
    return urlsplit(url)._replace(query="", fragment="").geturl()


def _through(proxy: str) -> dict[str, str] | None:
    return {"http": proxy, "https": proxy} if proxy else None


def _ask(url: str, certificate: bytes | None, proxy: str) -> float | None:
    import ssl  # noqa: PLC0415 - a sidecar carries it in its memory only once it needs it
    from http.client import HTTPException  # noqa: PLC0415
    from urllib.error import HTTPError  # noqa: PLC0415
    from urllib.request import HTTPSHandler, ProxyHandler, Request, build_opener  # noqa: PLC0415

    try:
        context = ssl.create_default_context(cadata=certificate.decode() if certificate else None)
        handlers = [HTTPSHandler(context=context), ProxyHandler(_through(proxy))]
        with build_opener(*handlers).open(Request(url, method="HEAD"), timeout=_TIMEOUT_S):  # noqa: S310 - http(s) only
            return None
    except HTTPError as error:
        with error:
            if error.code not in OVERLOADED:
                return None
            return parsed(error.headers["Retry-After"], datetime.now(UTC))
    except (OSError, ValueError, HTTPException):
        return None
