"""Checks of what the end of a session changes by rule: only what went on, and only in these ways."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from rayhist_testkit.fidelity.case import Case, names
from rayhist_testkit.fidelity.compare import Difference, Kind

_ENDED = {"FAILED", "DEAD", False}
_OVER = {"FINISHED", "FAILED", "DEAD", "SUCCEEDED", "STOPPED"}


def _state(difference: Difference, case: Case) -> bool:
    """What went on has failed or is dead, and nothing else."""
    return _went_on(difference, case) and difference.replay in _ENDED


def _time(difference: Difference, case: Case) -> bool:
    """What went on ended with the session, to the millisecond."""
    return _went_on(difference, case) and difference.replay == case.moments.end_ms


def _message(difference: Difference, case: Case) -> bool:
    """Of what went on it is said when the cluster ended."""
    at = datetime.fromtimestamp(case.moments.end_ms // 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return _went_on(difference, case) and f"The cluster ended at {at} UTC" in str(difference.replay)


def _error(difference: Difference, case: Case) -> bool:
    """A task that went on failed as those do whose worker died."""
    return _went_on(difference, case) and difference.live is None and difference.replay == "WORKER_DIED"


def _event(difference: Difference, case: Case) -> bool:
    """A task that went on has one state more: it failed, when the session ended."""
    return _went_on(difference, case) and difference.replay == {
        "state": "FAILED",
        "created_ms": float(case.moments.end_ms),
    }


def _listed(difference: Difference, case: Case) -> bool:
    """What went on meets another filter now."""
    return _went_on(difference, case)


def _count(difference: Difference, case: Case) -> bool:
    """Counts of what meets a filter differ by what went on, at most."""
    most = len(case.aftermath.going) + len(case.aftermath.later)
    return bool(abs((difference.replay or 0) - (difference.live or 0)) <= most)


def _counts(difference: Difference, case: Case) -> bool:
    """Nothing goes on by now, and nothing got lost."""
    live, replay = difference.live or {}, difference.replay or {}
    added = sum(replay.values()) - sum(live.values())
    return bool(replay.keys() <= _OVER and 0 <= added <= len(case.aftermath.later))


def _group(difference: Difference, _: Case) -> bool:
    """Calls of a function that went on are found among what failed."""
    return bool(difference.replay["state_counts"].keys() == {"FAILED"})


def _went_on(difference: Difference, case: Case) -> bool:
    return bool(names(difference, case) & case.aftermath.going)


def _with_its_node(difference: Difference, case: Case) -> bool:
    """A worker that Ray still calls alive ended with its node, before the session did."""
    if not _went_on(difference, case):
        return False
    said = difference.replay
    if isinstance(said, int):
        return 0 < said < case.moments.end_ms
    return str(said).startswith("The worker's node died.")


def _over(difference: Difference, case: Case) -> bool:
    """It is about nothing that went on at the end."""
    return not _went_on(difference, case)


def _told(difference: Difference, _: Case) -> bool:
    """The end is told where there was no message."""
    return difference.live in {"", None} and str(difference.replay).startswith("The cluster ended at ")


def _inactive(difference: Difference, _: Case) -> bool:
    """No driver is active any more, which is said and why."""
    ours: Any = {"is_active": "INACTIVE", "reason": "The cluster has ended."}
    name = difference.field.rpartition(".")[2]
    return difference.kind is Kind.VALUE and difference.replay == ours.get(name, difference.replay)


CHECKS: dict[str, Callable[[Difference, Case], bool]] = {
    "ended-state": _state,
    "ended-time": _time,
    "ended-message": _message,
    "ended-error": _error,
    "ended-event": _event,
    "ended-row": _listed,
    "ended-count": _count,
    "ended-counts": _counts,
    "ended-group": _group,
    "ended-with-its-node": _with_its_node,
    "over": _over,
    "ended-told": _told,
    "ended-inactive": _inactive,
}
