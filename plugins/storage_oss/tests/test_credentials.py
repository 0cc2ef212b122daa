"""Credentials are renewed in time, by one of those who need them, and not by all replicas together."""

from __future__ import annotations

import asyncio
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest

from rayhist.errors import Denied, RayhistError, Unavailable
from rayhist_storage_oss.credentials import Credentials
from rayhist_storage_oss.sources import Credential

HOUR = 3600.0


class Lending:
    """A source that counts, fails when told to, and waits at a gate."""

    description = "a test"

    def __init__(self, lasting_s: float = HOUR) -> None:
        self.lasting_s = lasting_s
        self.fetched = 0
        self.failure: RayhistError | None = None
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()

    def fetch(self) -> Credential:
        self.fetched += 1
        self.entered.set()
        self.gate.wait(30)
        if self.failure is not None:
            raise self.failure
        return Credential(
            f"key-{self.fetched}", "secret", "token", datetime.now(UTC) + timedelta(seconds=self.lasting_s)
        )


def key(credentials: Credentials) -> str:
    return asyncio.run(credentials.ready()).access_key_id


def due(credentials: Credentials) -> None:
    """Let the time for a renewal have come."""
    credentials._renew_at = 0.0


def test_replicas_that_start_together_renew_apart_and_before_the_end() -> None:
    now = time.time()
    replicas = [Credentials(Lending()) for _ in range(60)]
    for replica in replicas:
        key(replica)
    at = sorted(replica._renew_at - now for replica in replicas)
    assert at[0] >= 0.5 * HOUR - 1
    assert at[-1] <= 0.8 * HOUR + 60
    assert at[-1] - at[0] > 0.1 * HOUR


def test_who_comes_while_one_renews_goes_on_with_the_old() -> None:
    source = Lending()
    credentials = Credentials(source)
    assert key(credentials) == "key-1"
    due(credentials)
    source.gate.clear()
    source.entered.clear()
    renewing = threading.Thread(target=key, args=(credentials,))
    renewing.start()
    assert source.entered.wait(30)
    assert [key(credentials) for _ in range(5)] == ["key-1"] * 5
    source.gate.set()
    renewing.join()
    assert (key(credentials), source.fetched) == ("key-2", 2)


def test_who_has_none_waits_for_the_one_who_asks() -> None:
    source = Lending()
    credentials = Credentials(source)

    async def many() -> set[str]:
        return {one.access_key_id for one in await asyncio.gather(*(credentials.ready() for _ in range(50)))}

    assert asyncio.run(many()) == {"key-1"}
    assert source.fetched == 1


@pytest.mark.parametrize("failure", [Unavailable("busy"), Denied("no")])
def test_a_renewal_that_fails_leaves_the_old_in_use(failure: RayhistError) -> None:
    source = Lending()
    credentials = Credentials(source)
    key(credentials)
    due(credentials)
    source.failure = failure
    assert [key(credentials) for _ in range(5)] == ["key-1"] * 5
    tried = source.fetched
    assert tried <= 5, "asked once, and not again at each request"
    source.failure = None
    due(credentials)
    assert key(credentials) == f"key-{tried + 1}"


def test_an_old_one_that_has_expired_is_not_used() -> None:
    source = Lending(lasting_s=10)
    credentials = Credentials(source)
    key(credentials)
    due(credentials)
    source.failure = Denied("no")
    with pytest.raises(Denied):
        key(credentials)


def test_a_refused_one_is_replaced_but_a_new_one_is_not_doubted() -> None:
    source = Lending()
    credentials = Credentials(source)
    key(credentials)
    credentials.doubt()
    assert key(credentials) == "key-1"
    credentials._taken_at -= 120
    credentials.doubt()
    assert key(credentials) == "key-2"


def test_obstore_comes_again_when_it_is_time_to_renew() -> None:
    """It keeps what it is given until five minutes before its end."""
    credentials = Credentials(Lending())
    given = asyncio.run(credentials())
    assert given["expires_at"] is not None
    asks_in = (given["expires_at"] - datetime.now(UTC)).total_seconds() - 300
    assert 0.5 * HOUR - 60 <= asks_in <= 0.8 * HOUR + 60
    assert given["token"] == "token"


def test_a_credential_shows_no_secret() -> None:
    shown = repr(asyncio.run(Credentials(Lending()).ready()))
    assert "key-1" in shown
    assert "secret" not in shown
