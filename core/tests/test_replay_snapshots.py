"""What is known from the dashboard's answers alone, and what becomes of it when the cluster has ended."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayhist.replay.answers import Answers
from rayhist.replay.exports import Exports
from rayhist.resources import PLACEMENT_GROUPS, RUNTIME_ENVS
from rayhist_testkit.folding import ENDED, answer, fold, listed

SERVE = "/api/serve/applications/"
DATASETS = "/api/data/datasets/01000000"
GROUP = {"placement_group_id": "f6" * 18, "name": "pg", "creator_job_id": "01000000", "state": "CREATED"}


def dataset(state: str, at_s: int, end: float = 0.0, name: str = "ds_1") -> bytes:
    operators = [{"id": "Input_0", "name": "Input", "state": state, "uuid": "x", "args": {}}]
    data = {
        "dataset_id": name,
        "job_id": "01000000",
        "state": state,
        "start_time": 1796052710.25,
        "execution_end_time": end,
        "topology": {"operators": operators},
    }
    return msgspec.json.encode({"timestamp": at_s, "event_data": data})


def exported(*lines: bytes) -> Exports:
    exports = Exports()
    assert exports.add("export_events/event_EXPORT_DATASET_METADATA.log", b"\n".join([*lines, b""])) == ""
    return exports


def test_placement_groups_are_as_last_listed_even_when_the_cluster_has_ended() -> None:
    """Nobody removed them; a list with details counts, however many short or filtered ones came later."""
    full = {**GROUP, "bundles": [{"bundle_id": {"bundle_index": 0}}], "stats": {"scheduling_attempt": 1}}
    answers = [
        listed("placement_groups", [full], at_ms=1000),
        answer("/api/v0/placement_groups", {"data": {"result": {"total": 1, "result": [GROUP]}}}, at_ms=2000),
        answer(
            "/api/v0/placement_groups?detail=1&filter_keys=state&filter_predicates=%3D&filter_values=X",
            {"data": {"result": {"total": 1, "result": []}}},
            at_ms=3000,
        ),
    ]
    [row] = fold([], answers=answers, end=ENDED).rows(PLACEMENT_GROUPS)

    assert (row["state"], row["bundles"], row["stats"]) == ("CREATED", full["bundles"], full["stats"])
    assert row["topology_strategy"] is None


def test_runtime_environments_keep_their_order_and_their_objects() -> None:
    rows = [{"runtime_env": {"pip": [name]}, "success": True, "node_id": "ab" * 28} for name in ("b", "a")]

    found = fold([], answers=[listed("runtime_envs", rows)]).rows(RUNTIME_ENVS)
    assert [one["runtime_env"] for one in found] == [{"pip": ["b"]}, {"pip": ["a"]}]


def test_every_answer_is_kept_under_its_one_spelling() -> None:
    """With the time and status; a failure counts where no success was recorded."""
    answers = [
        answer("/timezone", {"offset": "+00:00"}, at_ms=5),
        answer("/timezone?nocache=1", "broken", at_ms=9, status=500),
        answer("/api/grafana_health", {"result": False}, at_ms=7, status=500),
    ]
    documents = fold([], answers=answers).documents("answer")

    assert documents == {
        "/api/grafana_health": {"fetched_at": 7, "status": 500, "body": {"result": False}},
        "/timezone": {"fetched_at": 5, "status": 200, "body": {"offset": "+00:00"}},
    }


@pytest.mark.parametrize(
    ("endpoint", "full", "empty"),
    [
        (SERVE, {"applications": {"app": {}}}, {"applications": {}}),
        (DATASETS, {"datasets": [{"dataset": "x"}]}, {"datasets": []}),
        ("/api/train/v2/runs/v1", {"train_runs": [{}]}, {"train_runs": []}),
    ],
)
def test_an_answer_that_lost_its_content_at_the_end_replaces_none(
    endpoint: str, full: dict[str, Any], empty: dict[str, Any]
) -> None:
    """Serve's controller dies before the last poll; in whatever order the answers are read."""
    before, after = answer(endpoint, full, at_ms=1), answer(endpoint, empty, at_ms=2)
    for order in ([before, after], [after, before]):
        answers = Answers()
        for one in order:
            answers.add(one)

        assert answers.body(endpoint) == full
        assert answers.last(endpoint) == answers.last(endpoint.rstrip("/"))


def test_a_serve_application_says_that_its_status_is_the_last_one_known() -> None:
    """Unless it has something to say itself; while the cluster lives, the answer is left alone."""
    body = {"applications": {"a": {"status": "RUNNING", "message": ""}, "b": {"message": "no such file"}}}
    ended = fold([], answers=[answer(SERVE, body)], end=ENDED).documents("answer")["/api/serve/applications"]
    going = fold([], answers=[answer(SERVE, body)]).documents("answer")["/api/serve/applications"]

    assert ended["body"]["applications"]["a"]["message"].startswith(
        "The cluster ended at 2026-11-30 17:33:20"
    )
    assert ended["body"]["applications"]["a"]["status"] == "RUNNING"
    assert ended["body"]["applications"]["b"] == {"message": "no such file"}
    assert going["body"] == body


def test_a_dataset_that_was_being_computed_failed_with_its_cluster() -> None:
    operators = [{"operator": "a", "state": "FINISHED"}, {"operator": "b", "state": "RUNNING"}]
    running = {"dataset": "x", "state": "RUNNING", "end_time": None, "operators": operators}
    finished = {"dataset": "y", "state": "FINISHED", "end_time": 5.5, "operators": []}
    body = {"datasets": [running, finished]}
    found = fold([], answers=[answer(DATASETS, body)], end=ENDED).documents("answer")[DATASETS]["body"]

    assert (found["datasets"][0]["state"], found["datasets"][0]["end_time"]) == ("FAILED", ENDED.at_ms / 1000)
    assert [one["state"] for one in found["datasets"][0]["operators"]] == ["FINISHED", "FAILED"]
    assert found["datasets"][1] == finished


@pytest.mark.parametrize("body", [[], {"datasets": 3}, {"datasets": [3]}, {"datasets": [{"operators": [1]}]}])
def test_an_answer_of_another_shape_is_kept_as_it_is(body: object) -> None:
    found = fold([], answers=[answer(DATASETS, body)], end=ENDED).documents("answer")[DATASETS]

    assert found["body"] == body


def test_datasets_come_from_the_export_file_where_no_answer_was_recorded() -> None:
    """With everything the page calls methods on; the latest state of each, the latest dataset first."""
    later = dataset("RUNNING", 1796052712, name="ds_2").replace(b"1796052710.25", b"1796052712.0")
    lines = [dataset("PENDING", 1796052710), dataset("FINISHED", 1796052711, 1796052711.5), later]
    folded = fold([], exports=exported(*lines))
    document = folded.documents("answer")[DATASETS]
    newest, oldest = document["body"]["datasets"]

    assert (newest["dataset"], newest["state"], newest["end_time"]) == ("ds_2", "RUNNING", None)
    assert (oldest["state"], oldest["start_time"], oldest["end_time"]) == (
        "FINISHED",
        1796052710.25,
        1796052711.5,
    )
    for one in (oldest, *oldest["operators"]):
        assert (one["ray_data_current_bytes"], one["total"]) == ({"value": 0, "max": 0}, 0)
    assert oldest["operators"][0]["operator"] == "Input_0"
    assert (document["fetched_at"], document["status"]) == (1796052712000, 200)
    assert "The progress of job 01000000's datasets was not recorded, only their states." in folded.problems


def test_an_answer_with_datasets_beats_the_export_file() -> None:
    body = {"datasets": [{"dataset": "ds_1", "progress": 4}]}
    folded = fold([], exports=exported(dataset("RUNNING", 1)), answers=[answer(DATASETS, body)])

    assert folded.documents("answer")[DATASETS]["body"] == body


def test_what_was_never_polled_is_named() -> None:
    assert (
        "No answer of the dashboard was recorded about: Serve, objects, placement groups,"
        " runtime environments, the actors' processes, the cluster status, the cluster's time zone."
    ) in fold([]).problems


def test_a_list_that_the_dashboard_cut_is_named() -> None:
    """It lists no more than 10,000 of anything."""
    body = {"data": {"result": {"total": 12_000, "result": [GROUP]}}}
    folded = fold([], answers=[answer("/api/v0/placement_groups?detail=1", body, at_ms=1796052600000)])

    assert (
        "1 of 12000 placement_groups are known: the dashboard listed no more at 2026-11-30 15:30:00 UTC."
    ) in folded.problems


@pytest.mark.parametrize("body", [{"result": False, "data": {"result": None}}, [], {"data": {"result": {}}}])
def test_a_list_that_is_none_costs_that_list(body: object) -> None:
    """An error's envelope has no list."""
    folded = fold([], answers=[answer("/api/v0/placement_groups?detail=1", body)])

    assert folded.rows(PLACEMENT_GROUPS) == []
    assert any("/api/v0/placement_groups?detail=1 cannot be read" in one for one in folded.problems)
