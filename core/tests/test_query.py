"""Lists are filtered, counted, sorted and cut as Ray's state API does it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rayhist.errors import RayhistError
from rayhist.index import Index, IndexWriter
from rayhist.query import MAX_FILTERS, BadQuery, Filter, Page, Query, run
from rayhist.resources import ACTORS, RESOURCES, TASKS, WORKERS, Resource
from rayhist_testkit.recordings import RAY_2_60, RecordedAnswer, Recording

COMPARED = ("tasks", "actors", "nodes", "placement_groups", "workers")
WHOLE_TASKS = "/api/v0/tasks?limit=10000&detail=1&exclude_driver=false"


def _answered(answer: RecordedAnswer) -> Any:
    return answer.value["data"]["result"]


def _lists() -> list[tuple[Resource, RecordedAnswer]]:
    """The recorded lists; before the whole list of tasks was taken there were fewer tasks."""
    found = []
    early = True
    for answer in Recording(RAY_2_60).answers():
        name = urlsplit(answer.path).path.removeprefix("/api/v0/")
        early = early and answer.path != WHOLE_TASKS
        if (
            name in COMPARED
            and not answer.browser
            and not (early and name == "tasks" and answer.status == 200)
        ):
            found.append((RESOURCES[name], answer))
    return found


LISTS = _lists()


def _query(path: str) -> Query:
    given = parse_qs(urlsplit(path).query)
    filters = zip(
        given.get("filter_keys", []),
        given.get("filter_predicates", []),
        given.get("filter_values", []),
        strict=True,
    )
    return Query(
        filters=tuple(Filter(*one) for one in filters),
        limit=int(given.get("limit", ["100"])[0]),
        detail=given.get("detail", ["0"])[0] in {"1", "true"},
        exclude_driver=given.get("exclude_driver", ["true"])[0] == "true",
    )


def _keys(rows: list[dict[str, Any]]) -> list[str]:
    """Each row as text, sorted: Ray leaves the order of a task's attempts to chance."""
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


def _good() -> list[Any]:
    return [pytest.param(*one, id=one[1].path[8:120]) for one in LISTS if one[1].status == 200]


@pytest.mark.parametrize(("resource", "answer"), _good())
def test_a_list_is_what_ray_answered(listed: Index, resource: Resource, answer: RecordedAnswer) -> None:
    """The same rows in the same order, and the same counts."""
    live = _answered(answer)
    page = run(listed, resource, _query(answer.path))
    rows = [msgspec.json.decode(row) for row in page.rows]

    if one_of_several_attempts(live):
        assert rows[0]["attempt_number"] == live["num_filtered"] - 1
    else:
        assert _keys(rows) == _keys(live["result"])
    [*names] = resource.order or ("task_id",)
    assert [row[name] for row in rows for name in names] == [
        row[name] for row in live["result"] for name in names
    ]
    assert (page.total, page.after_truncation, page.filtered) == (
        live["total"],
        live["num_after_truncation"],
        live["num_filtered"],
    )


def one_of_several_attempts(live: dict[str, Any]) -> bool:
    """Ray answers any of a task's attempts; here it is the last, which tells what became of the task."""
    return "attempt_number" in str(live["result"][:1]) and len(live["result"]) == 1 < live["num_filtered"] < 4


def test_enough_lists_were_compared() -> None:
    assert len(_good()) > 80
    assert sum("filter_keys" in answer.path for _, answer in LISTS) > 60


@pytest.mark.parametrize("name", COMPARED)
def test_an_unknown_column_is_refused_in_rays_words(listed: Index, name: str) -> None:
    [answer] = [one for _, one in LISTS if one.status == 400 and f"/{name}?filter_keys=nosuch" in one.path]
    live = answer.value["msg"]

    with pytest.raises(BadQuery) as refused:
        run(listed, RESOURCES[name], _query(answer.path))

    begin = live.index("{")
    assert str(refused.value)[:begin] == live[:begin]
    columns = [set(text[begin + 1 : -1].split(", ")) for text in (str(refused.value), live)]
    assert columns[0] == columns[1]


@pytest.mark.parametrize("limit", [10_001, -1])
def test_a_limit_out_of_bounds_is_refused_in_rays_words(listed: Index, limit: int) -> None:
    [answer] = [one for _, one in LISTS if one.path == f"/api/v0/actors?limit={limit}"]

    with pytest.raises(BadQuery) as refused:
        run(listed, RESOURCES["actors"], Query(limit=limit))

    assert str(refused.value) == answer.value["msg"]


def _names(page: Page) -> set[str]:
    return {msgspec.json.decode(row)["name"] for row in page.rows}


def _filtered(listed: Index, column: str, predicate: str, value: str) -> Page:
    return run(listed, TASKS, Query((Filter(column, predicate, value),), limit=10_000))


@pytest.mark.parametrize("value", ["BOOM", "boom", "bOOm"])
def test_texts_are_compared_without_case(listed: Index, value: str) -> None:
    assert _names(_filtered(listed, "name", "=", value)) == {"boom"}
    assert "boom" not in _names(_filtered(listed, "name", "!=", value))


def test_letters_that_ascii_lacks_keep_their_case_at_rays_source(listed: Index) -> None:
    """Names of tasks are compared in C++, which knows the case of ASCII letters only."""
    name = next(name for name in _names(run(listed, TASKS, Query(limit=10_000))) if "ï" in name)

    assert name.upper() != name
    assert _names(_filtered(listed, "name", "=", name)) == {name}
    assert _names(_filtered(listed, "name", "=", name.upper())) == set()


def test_letters_that_ascii_lacks_have_case_elsewhere(tmp_path: Path) -> None:
    writer = IndexWriter(tmp_path / "index")
    row = dict.fromkeys(ACTORS.columns) | {"actor_id": "ab" * 16, "class_name": "Ünïcode"}
    writer.rows(ACTORS, [row])
    writer.finish()
    found = run(Index(tmp_path / "index"), ACTORS, Query((Filter("class_name", "=", "üNÏCODE"),)))
    assert found.filtered == 1


def test_a_row_without_a_value_is_not_equal_to_any(listed: Index) -> None:
    everything = run(listed, TASKS, Query(limit=10_000))
    assert _filtered(listed, "worker_pid", "=", "0").filtered == 0
    assert _filtered(listed, "worker_pid", "!=", "0").filtered == everything.total


def test_a_task_without_an_error_is_not_even_unequal_to_one(listed: Index) -> None:
    """Ray's source has no such column for it."""
    failed = _filtered(listed, "state", "=", "FAILED").filtered
    equal, unequal = (_filtered(listed, "error_type", one, "WORKER_DIED").filtered for one in ("=", "!="))
    assert 0 < equal < equal + unequal == failed


def test_a_worker_that_lives_is_not_even_unequal_to_a_way_to_exit(listed: Index) -> None:
    """Ray's source has no such column for it."""
    alive = run(listed, WORKERS, Query((Filter("is_alive", "=", "true"),), limit=10_000))
    unequal = run(listed, WORKERS, Query((Filter("exit_type", "!=", "SYSTEM_ERROR"),), limit=10_000))
    assert alive.rows
    assert not set(alive.rows) & set(unequal.rows)


def test_filters_add_up(listed: Index) -> None:
    both = (Filter("state", "=", "FAILED"), Filter("type", "=", "ACTOR_TASK"))
    page = run(listed, TASKS, Query(both, limit=10_000))

    assert page.filtered == len(page.rows) > 0
    assert page.after_truncation == page.total == _filtered(listed, "state", "=", "FAILED").total


@pytest.mark.parametrize(
    ("filters", "words"),
    [
        ([("state", ">", "x")], "Unsupported filter predicate > is given. Available predicates: =, !=."),
        ([("attempt_number", "=", "one")], "for a int type column"),
        ([("attempt_number", "=", "9" * 30)], "for a int type column"),
        ([("attempt_number", "=", "9" * 6000)], "for a int type column"),
        ([("is_debugger_paused", "=", "maybe")], "for a boolean type column"),
        ([("job_id", "=", "xyz")], "Odd-length string"),
        ([("job_id", "=", "")], "ID string needs to have length 4, got 0"),
        ([("task_id", "=", "00" * 23)], "ID string needs to have length 24, got 23"),
        ([("events", "=", "x")], "not supported"),
        ([("name", "=", "x")] * (MAX_FILTERS + 1), "more than"),
    ],
)
def test_a_wrong_filter_is_refused(listed: Index, filters: list[tuple[str, str, str]], words: str) -> None:
    with pytest.raises(BadQuery, match=words.replace("(", r"\(")):
        run(listed, TASKS, Query(tuple(Filter(*one) for one in filters)))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    resource=st.sampled_from([RESOURCES[name] for name in COMPARED]),
    predicate=st.sampled_from(["=", "!="]),
    value=st.text(st.characters(), max_size=20) | st.sampled_from(["' OR 1 --", "%", "\0", "\ud800"]),
    data=st.data(),
)
def test_no_value_breaks_a_query(
    listed: Index, resource: Resource, predicate: str, value: str, data: st.DataObject
) -> None:
    """It is answered or refused; equal and unequal rows make up the whole."""
    column = data.draw(st.sampled_from(sorted(resource.filterable)))
    counts = {}
    for one in ("=", "!="):
        query = Query((Filter(column, one, value),), limit=10_000)
        try:
            counts[one] = run(listed, resource, query).filtered
        except RayhistError:
            return
    both, everything = counts["="] + counts["!="], run(listed, resource, Query()).after_truncation
    assert both <= everything if column in resource.sparse else both == everything


def test_a_filter_finds_what_the_column_says(listed: Index) -> None:
    """Law: for each column and value there is, `=` gives exactly the rows that have it."""
    rows = [
        msgspec.json.decode(row)
        for row in run(listed, TASKS, Query(limit=10_000, detail=True, exclude_driver=False)).rows
    ]
    for column in TASKS.filterable:
        values = {row[column] for row in rows if row[column] is not None}
        for value in sorted(values, key=str)[:20]:
            query = Query((Filter(column, "=", str(value)),), limit=10_000, detail=True, exclude_driver=False)
            found = run(listed, TASKS, query)
            folded = str(value).lower()
            expected = [row for row in rows if str(row[column]).lower() == folded]
            assert _keys([msgspec.json.decode(row) for row in found.rows]) == _keys(expected), (column, value)


def test_the_index_is_never_written(listed: Index, tmp_path: Path) -> None:
    before = listed.path.read_bytes()
    with pytest.raises(BadQuery):
        run(listed, TASKS, Query((Filter('name"; DROP TABLE tasks; --', "=", "x"),)))
    run(listed, TASKS, Query((Filter("name", "=", "'; DROP TABLE tasks; --"),)))
    assert listed.path.read_bytes() == before
