"""Files reach every sink or stay: outages, denials, and one bad object among good ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from rayhist.clock import Clock
from rayhist.errors import Denied, StorageError, Unavailable
from rayhist.sink import Sealed, Sink
from rayhist_collector.backoff import Backoff
from rayhist_collector.metrics import Metrics
from rayhist_collector.ship import Shipper
from rayhist_collector.spool import Spool
from rayhist_testkit.contracts.source import Log


class Remembering(Sink):
    """Keeps what it is given; `fail` may raise for a key."""

    def __init__(self, fail: Callable[[str], None] = lambda _key: None) -> None:
        self.fail = fail
        self.tried: list[str] = []
        self.taken: list[tuple[str, bytes]] = []

    async def deliver(self, sealed: Sealed) -> None:
        self.tried.append(sealed.key)
        await asyncio.sleep(0)
        self.fail(sealed.key)
        self.taken.append((sealed.key, sealed.path.read_bytes()))

    @property
    def keys(self) -> list[str]:
        return [key for key, _ in self.taken]


Ship = Callable[..., Shipper]


@pytest.fixture
def ship(spool: Spool, clock: Clock) -> Ship:
    def make(**sinks: Sink) -> Shipper:
        return Shipper(spool, sinks, clock, Metrics(), Log())

    return make


async def _until_empty(shipper: Shipper, *others: Coroutine[Any, Any, None]) -> None:
    task = asyncio.create_task(shipper.run())
    extra = [asyncio.create_task(other) for other in others]
    try:
        async with asyncio.timeout(20):
            while shipper.waiting or not all(one.done() for one in extra):
                await asyncio.sleep(0)
    finally:
        task.cancel()
        await asyncio.wait([task])


def _seal(spool: Spool, count: int) -> list[str]:
    keys = [f"file/{number:03d}" for number in range(count)]
    for key in keys:
        spool.seal_bytes(key, key.encode())
    return keys


def test_everything_reaches_every_sink_and_leaves_the_disk(spool: Spool, ship: Ship) -> None:
    keys = _seal(spool, 30)
    one, two = Remembering(), Remembering()
    shipper = ship(one=one, two=two)
    shipper.offer(spool.sealed_keys())
    asyncio.run(_until_empty(shipper))
    assert sorted(one.keys) == sorted(two.keys) == keys
    assert spool.sealed_keys() == []


def test_after_an_outage_the_oldest_goes_first_and_nothing_is_lost(
    spool: Spool, ship: Ship, clock: Clock
) -> None:
    """Ten minutes without a store: few attempts, and then all of it."""
    keys = _seal(spool, 50)
    end = clock.monotonic() + 600

    def down(_key: str) -> None:
        if clock.monotonic() < end:
            raise Unavailable("no connection")

    sink = Remembering(down)
    shipper = ship(one=sink)
    shipper.offer(keys)
    asyncio.run(_until_empty(shipper))
    assert sorted(sink.keys) == keys
    assert len(sink.tried) - len(keys) < 60, "no hot loop"
    _probe, *rest = sink.keys
    expected = sorted(rest)
    assert max(abs(rest.index(key) - expected.index(key)) for key in rest) <= 8, "about oldest first"


def test_one_bad_object_does_not_hold_up_the_others(spool: Spool, ship: Ship) -> None:
    keys = _seal(spool, 20)
    failures = []

    def poisoned(key: str) -> None:
        if key == keys[0] and len(failures) < 5:
            failures.append(len(sink.taken))
            raise Unavailable("just this one")

    sink = Remembering(poisoned)
    shipper = ship(one=sink)
    shipper.offer(keys)
    asyncio.run(_until_empty(shipper))
    assert sorted(sink.keys) == keys
    assert sink.keys[0] != keys[0], "others overtook it"


def test_a_bad_object_alone_cannot_make_the_store_look_down(spool: Spool, ship: Ship) -> None:
    """Three failures in a row close the gate; the next attempt is another object's."""
    [bad] = _seal(spool, 1)

    def poisoned(key: str) -> None:
        if key == bad and len(sink.tried) < 12:
            raise StorageError("broken for good")

    sink = Remembering(poisoned)
    shipper = ship(one=sink)
    shipper.offer([bad])

    async def later() -> None:
        while len(sink.tried) < 5:
            await asyncio.sleep(0)
        await asyncio.to_thread(spool.seal_bytes, "good", b"")
        shipper.offer(["good"])

    asyncio.run(_until_empty(shipper, later()))
    assert sink.keys == ["good", bad]


def test_retry_after_is_honoured(spool: Spool, ship: Ship, clock: Clock) -> None:
    times = []

    def busy(_key: str) -> None:
        times.append(clock.monotonic())
        if len(times) == 1:
            raise Unavailable("slow down", retry_after_s=77)

    shipper = ship(one=Remembering(busy))
    shipper.offer(_seal(spool, 1))
    asyncio.run(_until_empty(shipper))
    assert times[1] - times[0] >= 77


def test_a_denied_upload_is_tried_again_when_it_was_mended(spool: Spool, ship: Ship, clock: Clock) -> None:
    end = clock.monotonic() + 3600

    def denied(_key: str) -> None:
        if clock.monotonic() < end:
            raise Denied("no such permission", remedy="allow PutObject")

    sink = Remembering(denied)
    shipper = ship(one=sink)
    shipper.offer(_seal(spool, 10))
    asyncio.run(_until_empty(shipper))
    assert len(sink.keys) == 10


def test_a_sink_that_has_a_file_is_not_given_it_again(spool: Spool, ship: Ship) -> None:
    failures = []

    def fails_twice(key: str) -> None:
        if len(failures) < 2:
            failures.append(key)
            raise Unavailable("not yet")

    good, bad = Remembering(), Remembering(fails_twice)
    shipper = ship(good=good, bad=bad)
    shipper.offer(_seal(spool, 1))
    asyncio.run(_until_empty(shipper))
    assert (good.keys, bad.keys) == (["file/000"], ["file/000"])


def test_a_document_written_anew_while_it_is_sent_is_sent_again(spool: Spool, ship: Ship) -> None:
    rewritten = []

    def rewrite(key: str) -> None:
        if not rewritten:
            rewritten.append(key)
            spool.seal_bytes(key, b"newer")
            shipper.offer([key])

    sink = Remembering(rewrite)
    shipper = ship(one=sink)
    spool.seal_bytes("marker", b"older")
    shipper.offer(["marker"])
    asyncio.run(_until_empty(shipper))
    assert sink.taken[-1] == ("marker", b"newer")
    assert spool.sealed_keys() == []


def test_a_sink_with_a_mistake_of_its_own_stops_nobody(spool: Spool, ship: Ship) -> None:
    def mistaken(key: str) -> None:
        if key.endswith("0") and len(sink.tried) < 30:
            raise ZeroDivisionError

    sink = Remembering(mistaken)
    shipper = ship(one=sink)
    shipper.offer(_seal(spool, 5))
    asyncio.run(_until_empty(shipper))
    assert len(sink.keys) == 5


def test_draining_tries_everything_once_and_keeps_what_fails(spool: Spool, ship: Ship) -> None:
    def refuse(key: str) -> None:
        if key == "file/003":
            raise Unavailable("not this one")

    sink = Remembering(refuse)
    shipper = ship(one=sink)
    shipper.offer(_seal(spool, 10))
    asyncio.run(shipper.drain())
    assert len(sink.tried) == 10
    assert spool.sealed_keys() == ["file/003"]
    assert shipper.waiting == 1


def test_pauses_grow_up_to_a_bound_and_are_spread() -> None:
    backoff = Backoff(first_s=1.0, most_s=60.0)
    pauses = [backoff.failed() for _ in range(50)]
    assert all(0.5 <= pause <= 60 for pause in pauses)
    assert all(pause >= 30 for pause in pauses[6:])
    assert len(set(pauses[6:])) > 40
    assert backoff.failed(retry_after_s=500) == 500
    backoff.succeeded()
    assert backoff.failed() <= 1
