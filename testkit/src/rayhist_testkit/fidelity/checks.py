"""What has to be true of two values for their difference to be allowed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from rayhist_testkit.fidelity import checks_ended, checks_later
from rayhist_testkit.fidelity.case import Case, is_number
from rayhist_testkit.fidelity.compare import Difference

CRASHED = "500 Internal Server Error\n\nServer got itself in trouble"
"""What aiohttp answers for an exception that nobody caught."""
_REDACTED = "<redacted>"

Check = Callable[[Difference, Case], bool]


def _anything(_difference: Difference, _case: Case) -> bool:
    """For what has no value to look at: a status, a field that one side lacks."""
    return True


def _number(difference: Difference, _: Case) -> bool:
    """Both are numbers; which, depends on the moment."""
    return is_number(difference.live) and is_number(difference.replay)


def _numeral(difference: Difference, _: Case) -> bool:
    """Both are whole numbers in a text, as Ray spells those of 64 bits."""
    return all(isinstance(one, str) and one.isdigit() for one in (difference.live, difference.replay))


def _same_but_digits(difference: Difference, _: Case) -> bool:
    """Only numbers differ."""
    return _undigited(difference.live) == _undigited(difference.replay)


def _same_words(difference: Difference, _: Case) -> bool:
    """The same words in another order."""
    return _words(difference.live) == _words(difference.replay)


def _redacted(difference: Difference, _: Case) -> bool:
    """The replay shows no value where the live dashboard showed one."""
    return isinstance(difference.live, str) and difference.replay == _REDACTED


def _clearer(difference: Difference, _: Case) -> bool:
    """The live message holds ours, among what is meant for Ray's developers."""
    return bool(difference.replay) and difference.replay in difference.live


def _with_remedy(difference: Difference, _: Case) -> bool:
    """Ours is the live message, and says what to do."""
    return bool(difference.replay.startswith(difference.live + b"\nremedy: "))


def _explained(_: Difference, case: Case) -> bool:
    """The live dashboard crashed; ours says what was wrong with the question."""
    return case.live.body.decode() == CRASHED and case.replay.status >= 400 and bool(case.replay.body)


def _answered(_: Difference, case: Case) -> bool:
    """The live dashboard crashed; ours has the answer."""
    return case.live.body.decode() == CRASHED and case.replay.status == 200


def _grown(_: Difference, case: Case) -> bool:
    """The log went on: what was shown of it is in it, unchanged."""
    whole = case.replay.whole
    return whole is not None and case.live.body in whole


def _gone(difference: Difference, case: Case) -> bool:
    """The live dashboard has no answer for a node that is dead; ours has."""
    said = f"{case.live.body!r}"
    gone = "doesn't exist" in said or "Server got itself in trouble" in said
    return case.live.status == 500 and gone and case.replay.status in {200, 500} and bool(difference.replay)


def _richer(difference: Difference, _: Case) -> bool:
    """The live dashboard has forgotten it; ours has not."""
    return difference.live in (None, "", 0, "0", {}) and difference.replay not in (None, "", 0, "0", {})


def _by_time(difference: Difference, _: Case) -> bool:
    """Ours are in the order of their times."""
    times = [float(event["timestamp"]) for event in difference.replay]
    return times == sorted(times)


def _same_title(difference: Difference, _: Case) -> bool:
    """Two titles of one process, which say what it is and then what it is doing."""
    titles = [(one or [""])[0].partition(".")[0] for one in (difference.live, difference.replay)]
    return bool(titles[0] == titles[1] != "")


def _blank(difference: Difference, _: Case) -> bool:
    """What only one side has says nothing."""
    return (difference.live or difference.replay) in ([], {}, None, "")


def _same_tasks(difference: Difference, _: Case) -> bool:
    """The tasks are in the same order, only the attempts of one are not."""
    live, replay = _tasks(difference.live), _tasks(difference.replay)
    return [one for one in live if one in replay] == [one for one in replay if one in live]


def _tasks(rows: list[dict[str, Any]]) -> list[str]:
    """Task ids, each where it comes first, of the rows of a list or the spans of a timeline."""
    found = (row.get("task_id") or row.get("args", {}).get("task_id") for row in rows)
    return list(dict.fromkeys(one for one in found if one))


def _refused(difference: Difference, case: Case) -> bool:
    """The live dashboard answers as if it were its own failure; ours says what is wrong with the question."""
    return case.live.status == 500 and case.replay.status == 400 and difference.replay[1].startswith("no ")


def _at_random(difference: Difference, _: Case) -> bool:
    """Of several attempts of a task each side shows one."""
    shown = difference.live or difference.replay
    return isinstance(shown, dict) and "attempt_number" in shown


def _undigited(text: Any) -> str:
    return re.sub(r"\d[\d.e-]*", "#", str(text))


def _words(text: Any) -> list[str]:
    return sorted(re.findall(r"\w+", str(text)))


CHECKS: dict[str, Check] = {
    "anything": _anything,
    "number": _number,
    "numeral": _numeral,
    "same-but-digits": _same_but_digits,
    "same-words": _same_words,
    "redacted": _redacted,
    "clearer": _clearer,
    "with-remedy": _with_remedy,
    "explained": _explained,
    "answered": _answered,
    "grown": _grown,
    "gone": _gone,
    "richer": _richer,
    "by-time": _by_time,
    "same-title": _same_title,
    "blank": _blank,
    "same-tasks": _same_tasks,
    "refused": _refused,
    "attempt": _at_random,
    **checks_later.CHECKS,
    **checks_ended.CHECKS,
}
