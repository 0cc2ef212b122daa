"""The summaries of a real cluster are what its dashboard answered; and laws that hold for every cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rayhist import summary
from rayhist.index import Index, IndexWriter
from rayhist.query import BadQuery, Filter
from rayhist.resources import ACTORS, TASKS
from rayhist.summary.lineage import MAX_DEPTH
from rayhist_testkit.recordings import RAY_2_60, RecordedAnswer, Recording

RETRIED_GROUPS = {"465c0fb8", "3d3e27c5", "9f166bdc"}
"""Tasks with several attempts: Ray's lineage has the creation time of any of them, ours that of the first."""

JOB = "01000000"
DRIVER = "f" * 40 + JOB


def _recorded() -> list[Any]:
    answers = [one for one in Recording(RAY_2_60).answers() if "/summarize" in one.path and one.status == 200]
    return [pytest.param(one, id=one.path[8:]) for one in answers if not one.browser]


def _summary(index: Index, path: str) -> Any:
    parts = urlsplit(path)
    given = parse_qs(parts.query)
    filters = [
        Filter(*one)
        for one in zip(
            given.get("filter_keys", []),
            given.get("filter_predicates", []),
            given.get("filter_values", []),
            strict=True,
        )
    ]
    summarize = {
        "tasks": summary.tasks_by_func_name,
        "actors": summary.actors,
        "objects": summary.objects,
    }[parts.path.split("/")[3]]
    if given.get("summary_by") == ["lineage"]:
        summarize = summary.tasks_by_lineage
    return msgspec.to_builtins(summarize(index, filters))


def _without_retried_times(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_retried_times(one) for one in value]
    if not isinstance(value, dict):
        return value
    retried = str(value.get("key", ""))[:8] in RETRIED_GROUPS
    return {
        name: _without_retried_times(one)
        for name, one in value.items()
        if not (retried and name == "timestamp")
    }


@pytest.mark.parametrize("answer", _recorded())
def test_a_summary_is_what_ray_answered(listed: Index, answer: RecordedAnswer) -> None:
    live = answer.value["data"]["result"]["result"]

    assert _without_retried_times(_summary(listed, answer.path)) == _without_retried_times(live)


def test_every_kind_of_summary_was_compared() -> None:
    paths = [one.values[0].path for one in _recorded()]

    assert len(paths) > 30
    assert sum("lineage" in path for path in paths) >= 14
    assert {path.split("/")[3] for path in paths} == {"tasks", "actors", "objects"}


def test_a_wrong_filter_is_refused_by_every_summary(listed: Index) -> None:
    for summarize in (
        summary.tasks_by_func_name,
        summary.tasks_by_lineage,
        summary.actors,
        summary.objects,
    ):
        with pytest.raises(BadQuery, match="nosuch"):
            summarize(listed, [Filter("nosuch", "=", "1")])


def _task(number: int, parent: str, **more: Any) -> dict[str, Any]:
    return {
        "task_id": f"{number:040x}{JOB}",
        "attempt_number": 0,
        "name": "",
        "func_or_class_name": f"f{number % 3}",
        "type": "NORMAL_TASK",
        "state": "FINISHED",
        "job_id": JOB,
        "actor_id": None,
        "parent_task_id": parent,
        "creation_time_ms": 1000.0 + number,
        **more,
    }


_numbers = count()


def _index(folder: Path, tasks: list[dict[str, Any]], actors: list[dict[str, Any]] | None = None) -> Index:
    path = folder / f"{next(_numbers)}.sqlite"
    writer = IndexWriter(path)
    writer.rows(TASKS, tasks)
    writer.rows(ACTORS, actors or [])
    writer.finish()
    return Index(path)


def _lineage(index: Index) -> Any:
    found: Any = msgspec.to_builtins(summary.tasks_by_lineage(index))
    return found["node_id_to_summary"]["cluster"]


def _groups(groups: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for group in groups:
        yield group
        yield from _groups(group["children"])


def test_what_an_unknown_task_started_is_in_the_totals_but_not_in_the_tree(tmp_path: Path) -> None:
    """An orphan, and a task that the orphan started."""
    orphan = _task(1, f"{99:040x}{JOB}")
    below = _task(2, orphan["task_id"])
    found = _lineage(_index(tmp_path, [_task(0, DRIVER), orphan, below]))

    assert [group["key"] for group in _groups(found["summary"])] == [f"{0:040x}{JOB}"]
    assert found["total_tasks"] == 3


def test_an_actor_stands_under_what_created_it_and_its_calls_under_the_actor(tmp_path: Path) -> None:
    actor = "ab" * 12 + JOB
    creates = {"type": "ACTOR_CREATION_TASK", "actor_id": actor, "name": "A.__init__"}
    calls = {"type": "ACTOR_TASK", "actor_id": actor, "name": "A.call"}
    starter = _task(0, DRIVER)
    tasks = [starter, _task(1, starter["task_id"], **creates), _task(2, DRIVER, **calls)]
    rows = [{"actor_id": actor, "class_name": "A", "repr_name": "my actor", "state": "DEAD", "job_id": JOB}]
    [top] = _lineage(_index(tmp_path, tasks, rows))["summary"]
    [group] = top["children"]

    assert (group["name"], group["type"], group["key"]) == ("my actor", "ACTOR", f"actor:{actor}")
    assert group["link"] == {"type": "actor", "id": actor}
    assert [child["name"] for child in group["children"]] == ["A.__init__", "A.call"]
    assert group["timestamp"] == 1001
    assert top["state_counts"] == {"FINISHED": 3}


def test_an_actor_nobody_knows_is_called_after_its_class(tmp_path: Path) -> None:
    creates = {"type": "ACTOR_CREATION_TASK", "actor_id": "ab" * 16, "name": "A.__init__"}
    [group] = _lineage(_index(tmp_path, [_task(0, DRIVER, **creates)]))["summary"]

    assert group["name"] == "A"


def test_tasks_that_claim_to_have_started_each_other_end(tmp_path: Path) -> None:
    """Damaged data: no root, so nothing of it is in the tree."""
    one, other = f"{1:040x}{JOB}", f"{2:040x}{JOB}"
    found = _lineage(_index(tmp_path, [_task(1, other), _task(2, one), _task(3, f"{3:040x}{JOB}")]))

    assert (found["summary"], found["total_tasks"]) == ([], 3)


def test_a_very_deep_lineage_is_counted_to_the_end_and_can_be_written_as_json(tmp_path: Path) -> None:
    depth = 3000
    tasks = [_task(number, f"{number - 1:040x}{JOB}" if number else DRIVER) for number in range(depth)]
    found = summary.tasks_by_lineage(_index(tmp_path, tasks))
    cluster = msgspec.json.decode(msgspec.json.encode(found))["node_id_to_summary"]["cluster"]

    assert cluster["summary"][0]["state_counts"] == {"FINISHED": depth}
    assert len(list(_groups(cluster["summary"]))) == MAX_DEPTH + 1


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), size=st.integers(1, 25))
def test_the_top_of_a_lineage_adds_up_to_the_summary_by_name(
    tmp_path: Path, data: st.DataObject, size: int
) -> None:
    """Law: without orphans each task is counted once, in the tree as in the table."""
    states = st.sampled_from(["FINISHED", "FAILED", "RUNNING", "PENDING_ARGS_AVAIL"])
    tasks = []
    for number in range(size):
        parent = data.draw(st.integers(-1, number - 1))
        parent_id = DRIVER if parent < 0 else tasks[parent]["task_id"]
        tasks.append(_task(number, parent_id, state=data.draw(states)))
    index = _index(tmp_path, tasks)
    lineage = _lineage(index)
    names: Any = msgspec.to_builtins(summary.tasks_by_func_name(index))
    cluster = names["node_id_to_summary"]["cluster"]

    expected = Counter(task["state"] for task in tasks)
    for groups in (lineage["summary"], cluster["summary"].values()):
        found: Counter[str] = Counter()
        for group in groups:
            found.update(group["state_counts"])
        assert found == expected
    for group in _groups(lineage["summary"]):
        below: Counter[str] = Counter()
        for child in group["children"]:
            below.update(child["state_counts"])
        own = Counter(group["state_counts"]) - below
        assert own.total() == (0 if group["type"] == "GROUP" else 1)
    index.close()


def test_names_that_differ_in_case_are_different_names(tmp_path: Path) -> None:
    function = {"func_or_class_name": "f"}
    tasks = [_task(number, DRIVER, name=name, **function) for number, name in enumerate(["Load", "load", ""])]
    found: Any = msgspec.to_builtins(summary.tasks_by_func_name(_index(tmp_path, tasks)))
    groups = found["node_id_to_summary"]["cluster"]["summary"]

    assert list(groups) == ["Load", "load", "f"]
    assert groups["f"] == {
        "func_or_class_name": "f",
        "type": "NORMAL_TASK",
        "state_counts": {"FINISHED": 1},
    }
