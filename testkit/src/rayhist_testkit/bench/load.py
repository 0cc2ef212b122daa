"""The collector under a load of events."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rayhist.errors import RayhistError
from rayhist_testkit.bench.archive import Archive
from rayhist_testkit.bench.feed import Feed
from rayhist_testkit.bench.figures import Figure
from rayhist_testkit.bench.poster import Posted, post
from rayhist_testkit.bench.process import BenchCollector, until_quiet

RATES = (1000, 5000, 20_000)
_MOST_CPU_MCPU = 10.0
_JUDGED_RATE = 5000
_MOST_P99_MS = 250.0
_MOST_RSS_MB = 80.0
_MOST_RSS_EVER_MB = 120.0
_HELD = 0.99
_YARDSTICK_EVENTS = 2000


def measure(
    rate: int, seconds: float, interval_s: float, storage: Mapping[str, Any], folder: Path
) -> list[Figure]:
    """A fresh collector takes `rate` events a second; all of it counted until everything is in the archive.

    Raises `RayhistError` if an acknowledged event is not there, or is there twice.
    """
    feed = Feed()
    with BenchCollector(folder, storage, feed.session, event_interval_s=interval_s) as collector:
        collector.start()
        address = collector.address
        until_quiet(collector)
        start_rss, before = collector.peak_rss_bytes, collector.cpu_s()
        posted = post(address, feed, rate=rate, seconds=seconds, enough=lambda: collector.just_sealed)
        until_quiet(collector)
        cpu_s = collector.cpu_s() - before
        collector.stop()
    stored, different, size = Archive(storage).events(folder.name)
    if not stored == different == posted.events:
        raise RayhistError(
            f"{posted.events} events were acknowledged, {stored} stored, {different} different"
        )
    sent = Sent(rate, posted, cpu_s, feed.mean_bytes * posted.events / size)
    return [*held(sent), *_time(sent, feed), *_space(sent, collector, start_rss)]


class Sent(NamedTuple):
    """Events sent at a rate: what came of it, processor time in seconds, and how much smaller they got."""

    rate: int
    posted: Posted
    cpu_s: float
    ratio: float

    def figure(self, name: str, value: float, unit: str, **more: Any) -> Figure:
        section = f"{self.rate:,} events/s" if self.rate else "as many events as it takes"
        return Figure(section, name, value, unit, **more)


def held(sent: Sent) -> Iterator[Figure]:
    """Whether all that came was taken."""
    share = sent.posted.rate / sent.rate if sent.rate else 1.0
    note = "" if share >= _HELD else f"not held: {share:.0%} of what came; all below is at this rate"
    least = _HELD * sent.rate if sent.rate else None
    yield sent.figure("events taken", sent.posted.rate, "/s", least=least, note=note)


def _time(sent: Sent, feed: Feed) -> Iterator[Figure]:
    cpu = sent.cpu_s / sent.posted.events * 1e6
    most = _MOST_CPU_MCPU if sent.rate else None
    yield sent.figure(
        "CPU per 1,000 events/s", cpu, "mCPU", most=most, note="compressing and sending included"
    )
    yield sent.figure("json.loads alone, here and now", _yardstick_us(feed), "mCPU", note="for comparison")
    most = _MOST_P99_MS if sent.rate == _JUDGED_RATE else None
    yield sent.figure("200 after, half of the batches", sent.posted.latency(0.5) * 1e3, "ms")
    yield sent.figure("200 after, 99 % of the batches", sent.posted.latency(0.99) * 1e3, "ms", most=most)


def _space(sent: Sent, collector: BenchCollector, start_rss: int) -> Iterator[Figure]:
    most = _MOST_RSS_MB if sent.rate == _JUDGED_RATE else _MOST_RSS_EVER_MB
    yield sent.figure("memory before", start_rss / 1e6, "MB")
    yield sent.figure("memory at most", collector.peak_rss_bytes / 1e6, "MB", most=most)
    yield sent.figure("spool at most", collector.peak_spool_bytes / 1e6, "MB")
    yield sent.figure("posted bytes per archived byte", sent.ratio, "")


def _yardstick_us(feed: Feed) -> float:
    """What to divide by, when figures of two machines, or of a busy one, are to be compared."""
    lines = json.loads(feed.body(_YARDSTICK_EVENTS))
    texts = [json.dumps(line) for line in lines]
    begun = time.process_time()
    for text in texts:
        json.loads(text)
    return (time.process_time() - begun) * 1e6 / len(texts)
