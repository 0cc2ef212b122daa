"""`[auth] kind = "none"`: everybody who reaches the server may read."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from rayhist.auth import ANONYMOUS, Authenticator, Principal
from rayhist.hookspecs import hookimpl
from rayhist.kinds import AuthKind


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`none` has no options."""


class Everybody(Authenticator):
    async def authenticate(self, headers: Mapping[str, str]) -> Principal:  # noqa: ARG002 - nothing to check
        return ANONYMOUS


@hookimpl
def rayhist_auth() -> AuthKind:
    return AuthKind(api=1, name="none", options=Options, open=lambda _options: Everybody())
