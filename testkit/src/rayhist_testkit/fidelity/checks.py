"""What has to be true of two values for their difference to be allowed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from rayhist_testkit.fidelity.aftermath import Aftermath
from rayhist_testkit.fidelity.compare import Difference, Kind
from rayhist_testkit.fidelity.moments import Moments
from rayhist_testkit.fidelity.question import Given, Question

_CRASHED = "500 Internal Server Error\n\nServer got itself in trouble"
"""What aiohttp answers for an exception that nobody caught."""
_REDACTED = "<redacted>"
_NAMED = re.compile(r"\[([^\]]*)\]")
_IDS = ("actor_id", "actorId", "worker_id", "workerId", "node_id", "nodeId", "submission_id", "job_id")


class Case(msgspec.Struct, frozen=True):
    """The two answers that a difference is between, and what went on between them."""

    moments: Moments
    aftermath: Aftermath
    question: Question
    live: Given
    replay: Given


Check = Callable[[Difference, Case], bool]


def _number(difference: Difference, _: Case) -> bool:
    """Both are numbers; which, depends on the moment."""
    return _is_number(difference.live) and _is_number(difference.replay)


def _numeral(difference: Difference, _: Case) -> bool:
    """Both are whole numbers in a text, as Ray spells those of 64 bits."""
    return all(isinstance(one, str) and one.isdigit() for one in (difference.live, difference.replay))


def _text(difference: Difference, _: Case) -> bool:
    """Both are texts."""
    return isinstance(difference.live, str) and isinstance(difference.replay, str)


def _redacted(difference: Difference, _: Case) -> bool:
    """The replay shows no value where the live dashboard showed one."""
    return isinstance(difference.live, str) and difference.replay == _REDACTED


def _same_but_digits(difference: Difference, _: Case) -> bool:
    """Only digits differ."""
    return _undigited(difference.live) == _undigited(difference.replay)


def _same_words(difference: Difference, _: Case) -> bool:
    """The same words in another order."""
    return _words(difference.live) == _words(difference.replay)


def _clearer(difference: Difference, _: Case) -> bool:
    """The live message holds ours, among what is meant for Ray's developers."""
    return bool(difference.replay) and difference.replay in difference.live


def _explained(difference: Difference, case: Case) -> bool:
    """The live dashboard crashed; ours says what was wrong with the question."""
    return difference.live == [500, _CRASHED] and case.replay.status == 400 and len(case.replay.body) > 20


def _answered(difference: Difference, case: Case) -> bool:
    """The live dashboard crashed; ours has the answer."""
    return difference.live == [500, _CRASHED] and case.replay.status == 200


def _grown(_: Difference, case: Case) -> bool:
    """The log went on: what was shown of it is in it, unchanged."""
    whole = case.replay.whole
    return whole is not None and case.live.body in whole


def _later_attempt(difference: Difference, case: Case) -> bool:
    """It is about an attempt of a task that changed after the live answer."""
    row = _row(difference)
    if "task_id" in row:
        return f"{row['task_id']}/{row['attempt_number']}" in case.aftermath.attempts
    return any(name in case.aftermath.attempts for name in _NAMED.findall(difference.at))


def _later_count(difference: Difference, case: Case) -> bool:
    """The counts differ by no more than the number of attempts that changed after the live answer."""
    live, replay = difference.live or 0, difference.replay or 0
    return _number(difference, case) and abs(replay - live) <= len(case.aftermath.attempts)


def _later_thing(difference: Difference, case: Case) -> bool:
    """It is about an actor, worker, node or job that changed after the live answer."""
    row = _row(difference)
    named = {*_NAMED.findall(difference.at), *difference.at.split("."), *(row.get(name) for name in _IDS)}
    named.add(case.question.path.partition("?")[0].rpartition("/")[2])
    return bool(named & case.aftermath.things)


def _later_time(difference: Difference, case: Case) -> bool:
    """It is of a time after the live answers were begun."""
    row = _row(difference)
    at = row.get("ts", 0) / 1000 if "ts" in row else 1000 * float(row.get("timestamp", 0))
    return difference.kind is Kind.EXTRA and at >= case.moments.asked_from_ms


def _row(difference: Difference) -> dict[str, Any]:
    """The row that only one side has; empty for what is no row."""
    row = difference.replay if difference.kind is Kind.EXTRA else difference.live
    return row if isinstance(row, dict) else {}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _undigited(text: Any) -> str:
    return re.sub(r"\d+", "#", str(text))


def _words(text: Any) -> list[str]:
    return sorted(re.findall(r"\w+", str(text)))


CHECKS: dict[str, Check] = {
    "number": _number,
    "numeral": _numeral,
    "text": _text,
    "redacted": _redacted,
    "same-but-digits": _same_but_digits,
    "same-words": _same_words,
    "clearer": _clearer,
    "explained": _explained,
    "answered": _answered,
    "grown": _grown,
    "later-attempt": _later_attempt,
    "later-count": _later_count,
    "later-thing": _later_thing,
    "later-time": _later_time,
}
