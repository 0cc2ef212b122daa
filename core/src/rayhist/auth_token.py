"""`[auth] kind = "token"`: static bearer tokens, each with a name, from secrets.

A token is accepted where Ray's own dashboard accepts one (Ray 2.60, `RAY_AUTH_MODE=token`):
`Authorization: Bearer …`, `x-ray-authorization: Bearer …`, or the cookie `ray-authentication-token`.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie

import msgspec

from rayhist.auth import Authenticator, Principal
from rayhist.config import Secret
from rayhist.errors import ConfigError, Refused
from rayhist.hookspecs import hookimpl
from rayhist.kinds import AuthKind

COOKIE = "ray-authentication-token"
_MIN_LENGTH = 16


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of `token`."""

    tokens: dict[str, Secret]
    """Name of the holder → the token, as `{ env = "…" }` or `{ file = "…" }`."""


class Tokens(Authenticator):
    mode = "token"

    def __init__(self, options: Options) -> None:
        if not options.tokens:
            raise ConfigError("auth kind `token` has no tokens", remedy="add [auth.options.tokens] name = …")
        self._tokens = {name: secret.reveal().encode() for name, secret in options.tokens.items()}
        for name, token in self._tokens.items():
            if len(token) < _MIN_LENGTH:
                raise ConfigError(
                    f"the token of {name} is shorter than {_MIN_LENGTH} bytes",
                    remedy="make one with: openssl rand -hex 32",
                )

    async def authenticate(self, headers: Mapping[str, str]) -> Principal:
        given = _bearer(headers)
        if given is None:
            raise Refused("Unauthorized: Missing authentication token")
        found = None
        for name, token in self._tokens.items():  # all of them, so that the time tells nothing
            if hmac.compare_digest(token, given.encode("utf-8", "surrogateescape")):
                found = name
        if found is None:
            raise Refused("Forbidden: Invalid authentication token", authenticated=True)
        return Principal(found)


def _bearer(headers: Mapping[str, str]) -> str | None:
    for header in ("authorization", "x-ray-authorization"):
        scheme, _, token = headers.get(header, "").partition(" ")
        if scheme.lower() == "bearer" and token:
            return token.strip()
    try:
        cookies = SimpleCookie(headers.get("cookie", ""))
    except CookieError:
        return None
    return cookies[COOKIE].value if COOKIE in cookies else None


@hookimpl
def rayhist_auth() -> AuthKind:
    return AuthKind(api=1, name="token", options=Options, open=Tokens)
