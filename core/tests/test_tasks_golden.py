"""The tasks of a real cluster of Ray 2.60, recorded and replayed, are what its dashboard listed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from rayhist.query import Query, run
from rayhist.resources import TASKS
from rayhist_testkit.comparing import all_differences
from rayhist_testkit.recordings import AFTER_NODE_DEATH, END, LIVE

Replay = Callable[[str], Any]
Rows = dict[tuple[str, int], dict[str, Any]]

MOMENTS = (LIVE, AFTER_NODE_DEATH)
EVERYTHING = "/api/v0/tasks?limit=10000&detail=1&exclude_driver=false"

SILENT_JOB = "0d000000"
"""Its driver was started without Ray's switches for events, so that it told the GCS alone of its tasks."""

STILL_AT_WORK = {"02000000", "06000000", "11000000", "12000000", "13000000"}
"""Jobs whose drivers had not ended when the cluster did."""

FLUSH_MS = 3000
"""What a process tells Ray of its last seconds may be in the events already, and not yet in an answer."""


def _by_attempt(rows: list[dict[str, Any]]) -> Rows:
    return {(row["task_id"], row["attempt_number"]): row for row in rows}


def _replayed(at: Any) -> Rows:
    page = run(at.index, TASKS, Query(limit=10_000, detail=True, exclude_driver=False))
    return _by_attempt([msgspec.json.decode(row) for row in page.rows])


def _live(at: Any) -> Rows:
    rows = at.live(EVERYTHING)["data"]["result"]["result"]
    return _by_attempt([row for row in rows if row["job_id"] != SILENT_JOB])


def _without_news(rows: Rows, live: Rows, taken_ms: float) -> Rows:
    """The rows without the spans that profiles told when the answer was taken, or later."""
    for key, row in rows.items():
        spans = row["profiling_data"].get("events", [])
        known = len(live[key]["profiling_data"].get("events", []))
        assert all(one["start_time"] > taken_ms - FLUSH_MS for one in spans[known:])
        del spans[known:]
    return rows


@pytest.mark.parametrize("moment", MOMENTS)
def test_every_attempt_is_what_the_state_api_listed_in_every_field(replayed: Replay, moment: str) -> None:
    at = replayed(moment)
    live = _live(at)
    found = _without_news(_replayed(at), live, at.recording.answer(EVERYTHING, moment).at_ms)

    assert len(live) == {LIVE: 273, AFTER_NODE_DEATH: 307}[moment]
    assert all_differences(found, live, tolerance_ms=0) == []


@pytest.mark.parametrize("moment", MOMENTS)
def test_what_is_left_out_is_named(replayed: Replay, moment: str) -> None:
    at = replayed(moment)
    listed = at.live(EVERYTHING)["data"]["result"]["result"]
    [problem] = [one for one in at.index.meta("report")["problems"] if "task attempts" in one]

    assert len(listed) - len(_replayed(at)) == 6
    assert "6 task attempts are not shown" in problem
    assert f"{SILENT_JOB} (5)" in problem


def test_the_recording_has_what_goes_wrong_in_practice(replayed: Replay) -> None:
    """So that the comparison above means something."""
    rows = _replayed(replayed(LIVE)).values()

    assert {row["state"] for row in rows} >= {"FINISHED", "FAILED", "RUNNING", "PENDING_NODE_ASSIGNMENT"}
    assert {row["type"] for row in rows} == {
        "NORMAL_TASK",
        "ACTOR_TASK",
        "ACTOR_CREATION_TASK",
        "DRIVER_TASK",
    }
    assert len({row["error_type"] for row in rows}) == 7
    assert max(row["attempt_number"] for row in rows) == 2
    assert any(row["name"] != row["func_or_class_name"] for row in rows)
    assert any(row["placement_group_id"] for row in rows)


def test_when_the_cluster_is_gone_no_task_goes_on(replayed: Replay) -> None:
    """Whoever was going on has failed by the cluster's end; whoever had ended is untouched."""
    before, after = _replayed(replayed(AFTER_NODE_DEATH)), _replayed(replayed(END))
    ended_ms = replayed(END).index.meta("end")["at_ms"]

    assert {row["state"] for row in after.values()} == {"FINISHED", "FAILED"}
    assert all(row["end_time_ms"] <= ended_ms for row in after.values())
    gone = [row for row in after.values() if (row["error_message"] or "").startswith("The cluster ended at")]
    assert {row["error_type"] for row in gone} == {"WORKER_DIED"}
    assert {row["job_id"] for row in gone} == STILL_AT_WORK
    unchanged = [key for key, row in before.items() if row["state"] in {"FINISHED", "FAILED"}]
    assert all(after[key]["end_time_ms"] == before[key]["end_time_ms"] for key in unchanged)
