"""What is said of things that were still going on when their cluster ended."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from rayhist.replay.context import End

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def ended(end: End) -> str:
    """The sentences that say when and how the cluster ended."""
    return f"The cluster ended at {moment(end.at_ms)}. {end.reason}".rstrip()


def moment(at_ms: int) -> str:
    """Epoch milliseconds as text, e.g. `2026-11-30 15:45:17 UTC`."""
    try:
        at = _EPOCH + timedelta(milliseconds=at_ms)
    except OverflowError:
        at = _EPOCH
    return "an unknown time" if at == _EPOCH else at.strftime("%Y-%m-%d %H:%M:%S UTC")
