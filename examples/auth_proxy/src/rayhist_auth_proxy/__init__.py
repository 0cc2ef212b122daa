"""`[auth] kind = "proxy"`: whoever the proxy before the server says it is."""

import hmac
from collections.abc import Mapping

import msgspec

from rayhist.auth import Authenticator, Principal
from rayhist.config import Secret
from rayhist.errors import ConfigError, Refused
from rayhist.hookspecs import hookimpl
from rayhist.kinds import AuthKind


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Options of `proxy`."""

    secret: Secret
    """What the proxy sends in `X-Proxy-Secret`, so that nobody else is believed."""
    user_header: str = "x-forwarded-user"
    """Header with the user's name."""
    groups_header: str = "x-forwarded-groups"
    """Header with the user's groups, separated by commas."""


class ProxyAuthenticator(Authenticator):
    def __init__(self, options: Options) -> None:
        self._options = options
        if len(options.secret.reveal()) < 16:
            raise ConfigError("the proxy's secret is shorter than 16 letters", remedy="openssl rand -hex 32")

    async def authenticate(self, headers: Mapping[str, str]) -> Principal:
        given = headers.get("x-proxy-secret", "").encode("utf-8", "surrogateescape")
        if not given:
            raise Refused("this request did not come through the proxy", remedy="use the proxy's address")
        if not hmac.compare_digest(given, self._options.secret.reveal().encode()):
            raise Refused("the proxy's secret is wrong", authenticated=True)
        name = headers.get(self._options.user_header, "").strip()
        if not name:
            raise Refused("the proxy names no user", remedy="let the proxy ask its users to log in")
        groups = headers.get(self._options.groups_header, "").split(",")
        return Principal(name, tuple(group.strip() for group in groups if group.strip()))


@hookimpl
def rayhist_auth() -> AuthKind:
    return AuthKind(api=1, name="proxy", options=Options, open=ProxyAuthenticator)
