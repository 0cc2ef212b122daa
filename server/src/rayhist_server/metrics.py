"""What `/metrics` shows, in a registry of the application's own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

CONTENT_TYPE = CONTENT_TYPE_LATEST


class Metrics:
    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "rayhist_server_requests",
            "Requests answered, by route template, method and status.",
            ("route", "method", "status"),
            registry=self._registry,
        )
        self.seconds = Histogram(
            "rayhist_server_request_seconds",
            "Seconds from a request to the last byte of its answer, by route template.",
            ("route",),
            registry=self._registry,
        )
        self._replays = Counter(
            "rayhist_server_replays", "Replays, by result.", ("result",), registry=self._registry
        )
        self._replay_seconds = Histogram(
            "rayhist_server_replay_seconds",
            "Seconds that replays took.",
            buckets=(0.1, 0.5, 1, 5, 10, 30, 60, 300, 900),
            registry=self._registry,
        )

    def gauge(self, name: str, text: str, read: Callable[[], float]) -> None:
        """Show the value that `read` returns at each scrape."""
        Gauge(name, text, registry=self._registry).set_function(read)

    @contextmanager
    def replay(self) -> Iterator[None]:
        """Count a replay and its time."""
        started = time.monotonic()
        result = "failed"
        try:
            yield
            result = "done"
        finally:
            self._replays.labels(result).inc()
            self._replay_seconds.observe(time.monotonic() - started)

    def render(self) -> bytes:
        """The metrics as text, in Prometheus' exposition format."""
        return generate_latest(self._registry)
