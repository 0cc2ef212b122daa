"""Credentials that are renewed in time, once for all who need them, and not by all replicas at once."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from rayhist.errors import RayhistError, Unavailable
from rayhist_storage_oss.sources import Credential, Source

if TYPE_CHECKING:
    from obstore.store import S3Credential

_RENEW_BETWEEN = (0.5, 0.8)
"""Of a credential's life: replicas that started together renew apart."""
_UNUSABLE_S = 30.0
"""What is about to expire might do so on the way."""
_OBSTORE_ASKS_S = 300.0
"""obstore asks again when less is left."""
_ATTEMPTS = 4
_FIRST_PAUSE_S = 0.2
_REMEMBERED_S = (5.0, 10.0)
"""For how long a failure is believed: who asks meanwhile hears of it, and nobody asks STS."""
_AGAIN_S = (20.0, 40.0)
"""After a renewal that failed while the old credential is still good."""
_YOUNG_S = 60.0


class Credentials:
    """The credentials of one store; any number of tasks and threads may ask for them."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._one_asks = threading.Lock()
        self._held: Credential | None = None
        self._taken_at = 0.0
        self._renew_at = 0.0
        self._failure: RayhistError | None = None
        self._failure_until = 0.0

    @property
    def description(self) -> str:
        return self._source.description

    async def ready(self) -> Credential:
        """A credential that can be used now.

        Raises what the source raised: `Unavailable` if it may work later, else `Denied` or `ConfigError`.
        """
        held = self._held
        if held is not None and time.time() < self._renew_at:
            return held
        return await asyncio.to_thread(self._current)

    async def __call__(self) -> S3Credential:
        """For obstore, which keeps what it gets until five minutes before it expires."""
        credential = await self.ready()
        asks_at = max(self._renew_at, time.time()) + _OBSTORE_ASKS_S
        return {
            "access_key_id": credential.access_key_id,
            "secret_access_key": credential.access_key_secret,
            "token": credential.token,
            "expires_at": min(credential.expires_at, datetime.fromtimestamp(asks_at, UTC)),
        }

    def doubt(self) -> None:
        """It was refused: take another at the next request, unless this one is new."""
        if time.time() - self._taken_at > _YOUNG_S:
            self._held, self._renew_at = None, 0.0

    def _current(self) -> Credential:
        held = self._held
        usable = held is not None and _left_s(held) > _UNUSABLE_S
        if not self._one_asks.acquire(blocking=not usable):
            assert held is not None
            return held  # somebody renews it
        try:
            if self._held is not None and time.time() < self._renew_at:
                return self._held  # somebody has renewed it while we waited
            return self._renewed(held if usable else None)
        finally:
            self._one_asks.release()

    def _renewed(self, held: Credential | None) -> Credential:
        now = time.time()
        if held is None and self._failure is not None and now < self._failure_until:
            raise self._failure
        try:
            fetched = self._patiently()
        except RayhistError as error:
            if held is not None:
                self._renew_at = now + random.uniform(*_AGAIN_S)  # noqa: S311 - only to spread requests
                return held
            self._failure, self._failure_until = error, time.time() + random.uniform(*_REMEMBERED_S)  # noqa: S311
            raise
        self._held, self._taken_at, self._failure = fetched, time.time(), None
        self._renew_at = self._taken_at + _left_s(fetched) * random.uniform(*_RENEW_BETWEEN)  # noqa: S311
        return fetched

    def _patiently(self) -> Credential:
        """Ask again if the source may answer later; the pauses are random, since others wait too."""
        for attempt in range(1, _ATTEMPTS):
            try:
                return self._source.fetch()
            except Unavailable:
                time.sleep(random.uniform(0, _FIRST_PAUSE_S * 2**attempt))  # noqa: S311 - as above
        return self._source.fetch()


def _left_s(credential: Credential) -> float:
    return (credential.expires_at - datetime.now(UTC)) / timedelta(seconds=1)
