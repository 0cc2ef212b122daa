"""HTTP requests for credentials: small, blocking and rare, so the standard library does."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from rayhist.errors import ConfigError, Unavailable

_TIMEOUT_S = 10.0
_MAX_BYTES = 1024 * 1024


class Response(msgspec.Struct, frozen=True):
    status: int
    body: bytes


def ask(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    form: Mapping[str, str] | None = None,
    certificate: bytes | None = None,
    directly: bool = False,
) -> Response:
    """The answer, whatever its status.  `directly`: past any proxy, as a machine's own services need it.

    Raises `Unavailable` if there is none.
    """
    import ssl  # noqa: PLC0415 - a sidecar carries it in its memory only once it needs it
    from http.client import HTTPException  # noqa: PLC0415
    from urllib.error import HTTPError  # noqa: PLC0415
    from urllib.parse import urlencode  # noqa: PLC0415
    from urllib.request import HTTPSHandler, ProxyHandler, Request, build_opener  # noqa: PLC0415

    try:
        context = ssl.create_default_context()
        if certificate:
            context.load_verify_locations(cadata=certificate.decode())
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError(f"ca_certificate: {error}", remedy="name a PEM file") from error
    handlers = [HTTPSHandler(context=context), *([ProxyHandler({})] if directly else [])]
    body = urlencode(form).encode() if form is not None else None
    request = Request(url, data=body, headers=dict(headers or {}), method=method)  # noqa: S310 - checked http(s)
    try:
        with build_opener(*handlers).open(request, timeout=_TIMEOUT_S) as answer:
            return Response(answer.status, answer.read(_MAX_BYTES))
    except HTTPError as error:
        with error:
            return Response(error.code, error.read(_MAX_BYTES))
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise Unavailable(f"{url}: {reason}", remedy="check the address, proxies and firewalls") from error
