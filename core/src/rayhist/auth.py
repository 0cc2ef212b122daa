"""Who asks: an authenticator turns a request's headers into a principal."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import msgspec


class Principal(msgspec.Struct, frozen=True):
    """Somebody who may ask: a name and the groups they are in."""

    name: str
    groups: tuple[str, ...] = ()


ANONYMOUS = Principal("anonymous")


class Authenticator(ABC):
    mode: str = "disabled"
    """What the dashboard's `/api/authentication_mode` answers: `disabled` or `token`."""

    @abstractmethod
    async def authenticate(self, headers: Mapping[str, str]) -> Principal:
        """Return who sent these headers (names in lower case).

        Raises `Refused` if the credential is missing or wrong, and `Unavailable` if it cannot be checked now.
        """
