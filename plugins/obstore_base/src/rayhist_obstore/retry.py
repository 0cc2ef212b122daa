"""Doing a request again: after a pause if the server failed, with new credentials if they were refused."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from rayhist.errors import Denied, RayhistError, Unavailable
from rayhist_obstore.dialect import Dialect
from rayhist_obstore.errors import Asked, passes, status_of
from rayhist_obstore.retry_after import OVERLOADED, RetryAfter

if TYPE_CHECKING:
    from obstore.store import RetryConfig

    from rayhist_obstore.client import ClientOptions

_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0
_RENEWAL_EVERY_S = 60.0
"""A refusal for lack of rights looks like one for age, so renewal is rare."""

_ClientT = TypeVar("_ClientT")


class Retries(msgspec.Struct, frozen=True):
    """How often a request is repeated, and the seconds after which it no longer is."""

    times: int
    within_s: float

    @classmethod
    def of(cls, options: ClientOptions) -> Retries:
        return cls(options.max_retries, options.retry_timeout_s)

    @staticmethod
    def none_of_obstore() -> RetryConfig:
        """Obstore's own repetition is off: it does not know what the server asks for."""
        return {"max_retries": 0}

    def of_obstore(self) -> RetryConfig:
        """For the parts of a large upload, which only obstore can repeat one by one."""
        return {
            "max_retries": self.times,
            "retry_timeout": timedelta(seconds=self.within_s),
            "backoff": {
                "init_backoff": timedelta(seconds=_FIRST_PAUSE_S),
                "max_backoff": timedelta(seconds=_LONGEST_PAUSE_S),
                "base": 2,
            },
        }


class Clients(Generic[_ClientT]):
    """The client in use; another takes its place when its credentials are refused."""

    def __init__(self, connect: Callable[[RetryConfig], _ClientT], retries: Retries) -> None:
        self._connect = connect
        self._retries = retries
        self._renewed_at: float | None = None
        self.current = connect(retries.none_of_obstore())
        self._for_uploads: _ClientT | None = None

    def for_uploads(self) -> _ClientT:
        """A client that repeats the parts of an upload by itself."""
        if self._for_uploads is None:
            self._for_uploads = self._connect(self._retries.of_obstore())
        return self._for_uploads

    def renew(self, used: _ClientT) -> bool:
        """Whether there is a client with newer credentials than the `used` one's: perhaps made now."""
        if used is not self.current and used is not self._for_uploads:
            return True
        now = time.monotonic()
        if self._renewed_at is not None and now - self._renewed_at < _RENEWAL_EVERY_S:
            return False
        self._renewed_at = now
        self.current = self._connect(self._retries.none_of_obstore())
        self._for_uploads = None
        return True


class Attempts(Generic[_ClientT]):
    """The attempts at one request."""

    def __init__(
        self, clients: Clients[_ClientT], retries: Retries, retry_after: RetryAfter, dialect: Dialect
    ) -> None:
        self._clients = clients
        self._retries = retries
        self._retry_after = retry_after
        self._dialect = dialect
        self._start = time.monotonic()
        self._failed = 0
        self._renewed = False

    async def after(self, error: RayhistError, used: _ClientT, asked: Asked) -> None:
        """Return when the request may be made again, and raise `error` if it may not."""
        if isinstance(error, Denied) and not asked.may_be_denied:
            if self._renewed or not self._clients.renew(used):
                raise error
            self._renewed = True
        elif isinstance(error, Unavailable) and passes(error.__cause__, asked, self._dialect):
            await self._wait(error)
        else:
            raise error

    async def _wait(self, error: Unavailable) -> None:
        cause = error.__cause__
        if status_of(cause) in OVERLOADED:
            error.retry_after_s = await self._retry_after.seconds(str(cause))
        pause = min(_FIRST_PAUSE_S * 2**self._failed, _LONGEST_PAUSE_S) * random.uniform(0.5, 1)  # noqa: S311
        pause = max(pause, error.retry_after_s or 0.0)
        self._failed += 1
        over_at = time.monotonic() + pause
        if self._failed > self._retries.times or over_at - self._start > self._retries.within_s:
            raise error
        await asyncio.sleep(pause)
