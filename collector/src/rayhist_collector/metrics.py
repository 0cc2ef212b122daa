"""The collector's own metrics, in a registry of their own: there is no global one to share."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest


class Metrics:
    """Counts for Prometheus.  Times are seconds since the epoch, sizes are bytes."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"rayhist_collector_{name}", text, labels, registry=self._registry)

        self._received = counter("events_received", "Events that were posted")
        self._stored = counter("events_stored", "Events put on local disk")
        self._duplicates = counter("events_duplicate", "Events that came again")
        self._quarantined = counter("events_quarantined", "Events that could not be believed", "reason")
        self._lost = counter("lost", "Things that could not be recorded", "what")
        self._log_bytes = counter("log_bytes", "Bytes of logs put into packs")
        self._answers = counter("answers", "Dashboard answers that were new")
        self._uploads = counter("uploads", "Files that reached every sink")
        self._uploaded = counter("uploaded_bytes", "Bytes that reached every sink")
        self._errors = counter("upload_errors", "Uploads that failed, by kind of error", "kind")
        self._last = Gauge(
            "rayhist_collector_last_upload_time_seconds", "When a file last reached every sink",
            registry=self._registry,
        )  # fmt: skip

    def gauge(self, name: str, text: str, read: Callable[[], float]) -> None:
        """Show a value that is read when asked for."""
        Gauge(f"rayhist_collector_{name}", text, registry=self._registry).set_function(read)

    def events(self, *, received: int, stored: int, duplicates: int) -> None:
        self._received.inc(received)
        self._stored.inc(stored)
        self._duplicates.inc(duplicates)

    def quarantined(self, reason: str, count: int) -> None:
        self._quarantined.labels(reason).inc(count)

    def lost(self, what: str, count: int) -> None:
        self._lost.labels(what).inc(count)

    def packed(self, size: int) -> None:
        self._log_bytes.inc(size)

    def answered(self, count: int) -> None:
        self._answers.inc(count)

    def uploaded(self, size: int, now_ms: int) -> None:
        self._uploads.inc()
        self._uploaded.inc(size)
        self._last.set(now_ms / 1000)

    def upload_failed(self, kind: str) -> None:
        self._errors.labels(kind).inc()

    def exposition(self) -> bytes:
        return generate_latest(self._registry)
