"""Posting as Ray's aggregator agent does (Ray 2.60, `dashboard/modules/aggregator/`).

One connection, one batch at a time: what came within 0.1 s, at most a thousand events.  The next batch waits
for the answer; so does every event behind it.
"""

from __future__ import annotations

import http.client
import sys
import time
from collections.abc import Callable
from urllib.parse import urlsplit

import msgspec

from rayhist.errors import RayhistError
from rayhist_testkit.bench.feed import Feed

_WINDOW_S = 0.1
_MAX_BATCH = 1000
_TIMEOUT_S = 30.0
_OK = 200


class Posted(msgspec.Struct):
    """What came of posting: events acknowledged, seconds taken, and each answer's latency in seconds."""

    events: int
    seconds: float
    latencies: list[float]

    @property
    def rate(self) -> float:
        return self.events / self.seconds

    def latency(self, share: float) -> float:
        """The latency that this share of the answers kept within."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def post(
    address: str, feed: Feed, *, rate: int, seconds: float, enough: Callable[[], bool] = lambda: True
) -> Posted:
    """Let `rate` events come each second and post them; a rate of 0 posts as fast as it is answered.

    It ends when so many seconds are over and it is `enough`; of what waits then, one more batch is sent, so
    that `Posted.rate` is below `rate` if more had piled up.  Raises `RayhistError` if a batch is answered
    otherwise than by 200, or never enough.
    """
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=_TIMEOUT_S)
    posted = Posted(0, 0.0, [])
    begun = last = time.monotonic()
    try:
        while (now := time.monotonic()) - begun < seconds or not enough():
            if now - begun > seconds + _TIMEOUT_S * 2:
                raise RayhistError("it was never enough")
            come = _come(rate, now - begun) - posted.events
            if come < _MAX_BATCH and now - last < _WINDOW_S:
                time.sleep(_until_next(come, rate, last + _WINDOW_S - now))
                continue
            last = now
            _send(connection, feed, min(come, _MAX_BATCH), posted)
        posted.seconds = time.monotonic() - begun
        left = _come(rate, posted.seconds) - posted.events
        _send(connection, feed, min(left, _MAX_BATCH) if rate else 0, posted)
    finally:
        connection.close()
    return posted


def _come(rate: int, seconds: float) -> int:
    return int(seconds * rate) if rate else sys.maxsize


def _send(connection: http.client.HTTPConnection, feed: Feed, count: int, posted: Posted) -> None:
    if count > 0:
        posted.latencies.append(_post(connection, feed.body(count)))
        posted.events += count


def _until_next(come: int, rate: int, window_s: float) -> float:
    """Seconds until the batch is full or its window is over."""
    return min((_MAX_BATCH - come) / rate, window_s)


def _post(connection: http.client.HTTPConnection, body: bytes) -> float:
    begun = time.monotonic()
    connection.request("POST", "/v1/events", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    answer.read()
    if answer.status != _OK:
        raise RayhistError(f"a batch of events was answered {answer.status}")
    return time.monotonic() - begun
