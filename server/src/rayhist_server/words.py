"""Times and sizes as this server's own pages show them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def utc(epoch_ms: int) -> str:
    """`2026-11-30 15:45:17`; empty for 0 and for what no calendar has."""
    try:
        at = _EPOCH + timedelta(milliseconds=epoch_ms)
    except OverflowError:
        return ""
    return at.strftime("%Y-%m-%d %H:%M:%S") if epoch_ms else ""


def span(start_ms: int, end_ms: int) -> str:
    """How long it took, as `3 d 04:05:06` or `04:05:06`; empty if an end is unknown."""
    if not start_ms or end_ms < start_ms:
        return ""
    minutes, seconds = divmod((end_ms - start_ms) // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    clock = f"{hours:02d}:{minutes:02d}:{seconds:02d}"
    return f"{days} d {clock}" if days else clock
