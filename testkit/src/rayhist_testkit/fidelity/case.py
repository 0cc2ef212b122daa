"""What a check is given besides the difference, and what it asks of both."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from rayhist_testkit.fidelity.aftermath import Aftermath, attempt
from rayhist_testkit.fidelity.compare import Difference, Kind
from rayhist_testkit.fidelity.moments import Moments
from rayhist_testkit.fidelity.question import Given, Question

_BRACKETED = re.compile(r"\[([^\]]*)\]")
_IDS = ("actor_id", "actorId", "worker_id", "workerId", "node_id", "nodeId", "submission_id", "job_id")


class Case(msgspec.Struct, frozen=True):
    """The two answers that a difference is between, and what went on between them."""

    moments: Moments
    aftermath: Aftermath
    question: Question
    live: Given
    replay: Given


def row(difference: Difference) -> dict[str, Any]:
    """The row that only one side has; empty for what is no row."""
    found = difference.replay if difference.kind is Kind.EXTRA else difference.live
    return found if isinstance(found, dict) else {}


def ids_of(one: dict[str, Any]) -> set[str]:
    """What identifies a row; empty if nothing does."""
    if "task_id" in one:
        return {attempt(one)}
    if "coreWorkerStats" in one:
        return {each["workerId"] for each in one["coreWorkerStats"]}
    return set([one[name] for name in _IDS if one.get(name)][:1])


def names(difference: Difference, case: Case) -> set[str]:
    """The ids that a difference is about: of the row, in the path, or in the question."""
    if named := ids_of(row(difference)):
        return named
    found = {*_BRACKETED.findall(difference.at), *difference.at.split(".")}
    return found | {case.question.path.partition("?")[0].rpartition("/")[2]}


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
