"""What has to be true of two values for their difference to be allowed."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from rayhist_testkit.fidelity.compare import Difference
from rayhist_testkit.fidelity.moments import Moments
from rayhist_testkit.fidelity.question import Given, Question


class Case(msgspec.Struct, frozen=True):
    """The two answers that a difference is between."""

    moments: Moments
    question: Question
    live: Given
    replay: Given


Check = Callable[[Difference, Case], bool]


def _number(difference: Difference, _: Case) -> bool:
    """Both are numbers; which, depends on the moment."""
    return _is_number(difference.live) and _is_number(difference.replay)


def _grown(_: Difference, case: Case) -> bool:
    """The log went on: what was shown of it is in it, unchanged."""
    whole = case.replay.whole
    return whole is not None and case.live.body in whole


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


CHECKS: dict[str, Check] = {
    "number": _number,
    "grown": _grown,
}
