"""The comparison sees what differs, and the table allows no more than it says."""

from __future__ import annotations

import msgspec
import pytest

from rayhist.errors import ConfigError
from rayhist_testkit.fidelity.aftermath import Aftermath
from rayhist_testkit.fidelity.checks import CHECKS
from rayhist_testkit.fidelity.compare import Difference, Kind, compare
from rayhist_testkit.fidelity.judging import Judgement, judge, unused
from rayhist_testkit.fidelity.moments import Ending, Moments, View
from rayhist_testkit.fidelity.question import Answered, Given, Question
from rayhist_testkit.fidelity.table import load

JSON = "application/json; charset=utf-8"
MOMENTS = Moments(Ending.KILLED, View.LAST_KNOWN, asked_from_ms=1000, asked_until_ms=2000, end_ms=3000)
NODE = {"raylet": {"nodeId": "ab" * 28, "state": "ALIVE"}, "now": 17.5, "cpus": [2, 2]}
RULE = """
[[ticking]]
questions = ["/nodes/<id>"]
fields = [".now"]
check = "number"
reason = "when the node reported"
"""


def given(value: object, *, status: int = 200, kind: str = JSON, disposition: str = "") -> Given:
    return Given(status, kind, disposition, msgspec.json.encode(value))


def fields(live: object, replay: object) -> list[tuple[str, Kind]]:
    return [(one.field, one.kind) for one in compare(given(live), given(replay))]


def judged(live: object, replay: object, table: str = RULE, path: str = f"/nodes/{'ab' * 28}") -> Judgement:
    judgement = Judgement()
    question = Question(path)
    pair = Answered(question, given(live)), Answered(question, given(replay))
    judge([pair], MOMENTS, Aftermath(), load(table), judgement)
    return judgement


def test_equal_answers_do_not_differ() -> None:
    assert fields(NODE, dict(reversed(NODE.items()))) == []


@pytest.mark.parametrize(
    ("live", "replay"), [(1, 1.0), (1, True), (0, None), ("", None), ("1", 1), ([], {}), ({}, None)]
)
def test_the_type_of_a_value_counts(live: object, replay: object) -> None:
    assert fields({"a": live}, {"a": replay}) == [(".a", Kind.VALUE)]


def test_a_key_less_and_a_key_more_are_seen() -> None:
    assert fields({"a": 1, "b": None}, {"a": 1, "c": None}) == [(".b", Kind.ABSENT), (".c", Kind.EXTRA)]


def test_an_id_as_key_is_named_by_its_kind() -> None:
    [found] = compare(given({"ab" * 28: {"pid": 1}}), given({"ab" * 28: {"pid": 2}}))
    assert (found.field, found.at) == (".<id>.pid", f".{'ab' * 28}.pid")


def test_status_content_type_and_file_name_are_compared() -> None:
    live = given({}, disposition="attachment; filename=a")
    assert [one.field for one in compare(live, given({}, status=404))] == ["status"]
    assert [one.field for one in compare(live, given({}, kind="text/plain"))] == [
        "content-type",
        "content-disposition",
    ]


def test_text_is_compared_byte_by_byte() -> None:
    live, replay = (Given(200, "text/plain", "", body) for body in (b"{}", b"{ }"))
    assert [one.field for one in compare(live, replay)] == ["body"]


def test_a_row_that_only_one_side_has_does_not_shift_the_others() -> None:
    rows = [{"actor_id": name, "pid": number} for number, name in enumerate("abc")]
    assert fields(rows, rows[1:]) == [("[]", Kind.ABSENT)]
    assert fields(rows[1:], rows) == [("[]", Kind.EXTRA)]


def test_rows_are_paired_by_what_identifies_them() -> None:
    live = [{"task_id": "t", "attempt_number": number, "state": "FAILED"} for number in (0, 1)]
    replay = [live[0], {**live[1], "state": "RUNNING"}]
    [found] = compare(given(live), given(replay))
    assert (found.field, found.at, found.live) == ("[].state", "[t/1].state", "FAILED")


def test_another_order_is_seen() -> None:
    rows = [{"actor_id": name} for name in "abc"]
    assert fields(rows, rows[::-1]) == [("", Kind.ORDER)]
    assert fields(["a", "b"], ["b", "a"]) == [("", Kind.ORDER)]


def test_numbers_are_compared_by_position() -> None:
    assert fields([1, 2, 2], [1, 2, 3]) == [("[]", Kind.VALUE)]


def test_a_changed_value_is_unexplained_where_the_table_says_nothing_of_it() -> None:
    judgement = judged(NODE, {**NODE, "cpus": [2, 3]})
    assert [one.difference.field for one in judgement.unexplained] == [".cpus[]"]
    assert (judgement.answers, judgement.equal) == (1, 0)


def test_an_allowed_difference_leaves_the_answer_equal() -> None:
    judgement = judged(NODE, {**NODE, "now": 18})
    assert not judgement.unexplained
    assert (judgement.equal, judgement.same, judgement.allowed) == (1, 0, 1)


def test_a_value_that_fails_the_check_is_not_allowed() -> None:
    assert judged(NODE, {**NODE, "now": "later"}).unexplained
    assert judged(NODE, {name: value for name, value in NODE.items() if name != "now"}).unexplained


def test_another_question_is_not_allowed() -> None:
    assert judged(NODE, {**NODE, "now": 18}, path="/nodes").unexplained


def test_an_entry_that_allows_nothing_any_more_is_found() -> None:
    table = load(RULE)
    assert unused(table, judged(NODE, NODE), _all_moments()) == table.rules


def test_an_entry_that_says_so_may_have_nothing_to_allow() -> None:
    table = load(RULE + "by_chance = true\n")
    assert unused(table, judged(NODE, NODE), _all_moments()) == []


def test_an_entry_for_what_did_not_run_is_not_judged() -> None:
    assert unused(load(RULE), judged(NODE, NODE), [MOMENTS]) == []


def test_a_whole_field_is_compared_as_one_value() -> None:
    table = RULE.replace(".now", ".cpus").replace('check = "number"', 'check = "number"\nwhole = true')
    [found] = judged(NODE, {**NODE, "cpus": [1, 2]}, table).found
    assert found.difference == Difference(".cpus", ".cpus", Kind.VALUE, [2, 2], [1, 2])


def test_the_table_is_well_formed() -> None:
    rules = load().rules
    assert all(rule.check in CHECKS and rule.reason and rule.questions and rule.fields for rule in rules)
    with pytest.raises(ConfigError, match="excuse"):
        load(RULE.replace("reason", "excuse"))


def _all_moments() -> list[Moments]:
    return [msgspec.structs.replace(MOMENTS, ending=ending, view=view) for ending in Ending for view in View]
