"""Checks of what may differ since the cluster went on after it had been asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec

from rayhist_testkit.fidelity.case import Case, ids_of, is_number, names, row
from rayhist_testkit.fidelity.compare import Difference, Kind

_LATE_MS = 3000
"""Ray's dashboard learns of changes so much later."""


def _later(difference: Difference, case: Case) -> bool:
    """It is about something that began, changed or ended after the live answer."""
    return bool(names(difference, case) & case.aftermath.later)


def _later_count(difference: Difference, case: Case) -> bool:
    """Two counts differ by no more than the number of what changed after the live answer."""
    live, replay = difference.live or 0, difference.replay or 0
    return is_number(live) and is_number(replay) and abs(replay - live) <= len(case.aftermath.later)


def _later_counts(difference: Difference, case: Case) -> bool:
    """Counts by state differ by no more than the number of what changed after the live answer."""
    live, replay = difference.live or {}, difference.replay or {}
    moved = sum(abs(replay.get(name, 0) - live.get(name, 0)) for name in {*live, *replay})
    return bool(
        moved <= 2 * len(case.aftermath.later)
    )  # what changes its state leaves one and enters another


def _later_group(difference: Difference, case: Case) -> bool:
    """All calls of a function that one side counts are among what changed after the live answer."""
    counts = row(difference).get("state_counts", {}).values()
    return bool(0 < sum(counts) <= len(case.aftermath.later))


def _displaced(_: Difference, case: Case) -> bool:
    """Something later stands before it in a list that is full."""
    asked = parse_qs(urlsplit(case.question.path).query).get("limit", ["100"])
    listed = msgspec.json.decode(case.replay.body)["data"]["result"]["result"]
    later = [one for one in listed if ids_of(one) & case.aftermath.later]
    return bool(later) and len(listed) == int(asked[0])


def _later_order(difference: Difference, case: Case) -> bool:
    """Among what is listed is something that changed after the live answer, which the order depends on."""
    return case.aftermath.about(msgspec.json.encode(difference.live).decode())


def _later_time(difference: Difference, case: Case) -> bool:
    """It is of a time after the live answers were begun."""
    return (
        difference.kind is Kind.EXTRA and _time_ms(row(difference)) >= case.moments.asked_from_ms - _LATE_MS
    )


def _time_ms(one: dict[str, Any]) -> float:
    """Of a span of the timeline, a group of the lineage, or an event."""
    if "ts" in one:
        return float(one["ts"]) / 1000
    at = float(one.get("timestamp") or 0)
    return at if "children" in one else 1000 * at


CHECKS: dict[str, Callable[[Difference, Case], bool]] = {
    "later": _later,
    "later-count": _later_count,
    "later-counts": _later_counts,
    "later-group": _later_group,
    "displaced": _displaced,
    "later-order": _later_order,
    "later-time": _later_time,
}
