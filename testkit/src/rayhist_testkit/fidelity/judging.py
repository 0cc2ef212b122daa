"""Comparing the live answers with the replay's, and looking every difference up in the table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from rayhist_testkit.fidelity.aftermath import Aftermath
from rayhist_testkit.fidelity.case import Case
from rayhist_testkit.fidelity.checks import CHECKS
from rayhist_testkit.fidelity.compare import Difference, compare
from rayhist_testkit.fidelity.moments import Moments
from rayhist_testkit.fidelity.question import Answered
from rayhist_testkit.fidelity.table import Rule, Table, explains


class Found(msgspec.Struct, frozen=True):
    """A difference, and the rule that allows it, if one does."""

    question: str
    moments: Moments
    difference: Difference
    rule: Rule | None


class Judgement(msgspec.Struct):
    """What a comparison came to."""

    answers: int = 0
    same: int = 0
    """Answers without any difference."""
    allowed: int = 0
    """Answers with allowed differences only."""
    found: list[Found] = []

    @property
    def unexplained(self) -> list[Found]:
        return [one for one in self.found if one.rule is None]

    @property
    def equal(self) -> int:
        """Answers that are equal as far as they can be."""
        return self.same + self.allowed

    def add(self, found: list[Found]) -> None:
        """Take the differences of one answer."""
        self.answers += 1
        self.same += not found
        self.allowed += bool(found) and all(one.rule for one in found)
        self.found += found


def judge(
    pairs: Iterable[tuple[Answered, Answered]],
    moments: Moments,
    aftermath: Aftermath,
    table: Table,
    judgement: Judgement,
) -> None:
    """Add the comparison of live and replayed answers to the judgement."""
    for live, replay in pairs:
        case = Case(moments, aftermath, live.question, live.answer, replay.answer)
        judgement.add(list(_found(case, table)))


def unused(table: Table, judgement: Judgement, seen: Iterable[Moments]) -> list[Rule]:
    """The rules that could have allowed something, but have nothing to allow any more."""
    used = {id(one.rule) for one in judgement.found}
    moments = list(seen)
    return [
        rule
        for rule in table.rules
        if id(rule) not in used
        and not rule.by_chance
        and all(any(one.ending is ending for one in moments) for ending in rule.endings)
        and all(any(one.view is view for one in moments) for view in rule.views)
    ]


def _found(case: Case, table: Table) -> Iterator[Found]:
    question = case.question.name
    rules = [rule for rule in table.rules if rule.concerns(question, case.moments)]
    whole = [rule for rule in rules if rule.whole]
    for difference in compare(case.live, case.replay, lambda field: any(rule.about(field) for rule in whole)):
        yield Found(question, case.moments, difference, _allowed(difference, rules, case))


def _allowed(difference: Difference, rules: list[Rule], case: Case) -> Rule | None:
    for rule in rules:
        if explains(rule, difference) and CHECKS[rule.check](difference, case):
            return rule
    return None
