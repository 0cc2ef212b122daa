"""The head has the same little work with ten nodes and with a thousand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rayhist_collector.poll_plan import ACTORS, JOBS, SUMMARY, TASKS, TRAIN, Known, Schedule


def _rounds(known: Known, seconds: int, answer: dict[str, tuple[float, int]] | None = None) -> dict[str, int]:
    """How often each endpoint is asked in so many seconds, with rounds five seconds apart."""
    schedule, asked = Schedule(5.0), dict[str, int]()
    for now in range(0, seconds, 5):
        for endpoint in schedule.due(known.endpoints(), now + 0.01 * (now % 3)):
            asked[endpoint] = asked.get(endpoint, 0) + 1
            took, size = (answer or {}).get(endpoint, (0.01, 1000))
            schedule.answered(endpoint, status=200, seconds=took, size=size)
    return asked


def test_a_small_cluster_is_asked_each_interval() -> None:
    asked = _rounds(Known(alive=["aa" * 28]), 600)
    assert asked[JOBS] == asked[SUMMARY] == asked[ACTORS] == 120
    assert asked[f"/nodes/{'aa' * 28}"] == 30
    assert asked["/timezone"] == 1


def test_a_thousand_nodes_cost_a_few_requests_a_second() -> None:
    asked = _rounds(Known(alive=[f"{node:056x}" for node in range(1000)]), 3600)
    assert sum(asked.values()) / 3600 < 7


def test_big_and_slow_answers_are_asked_for_less_often() -> None:
    asked = _rounds(Known(), 3600, {ACTORS: (3.0, 25 << 20), JOBS: (2.0, 1000)})
    assert asked[ACTORS] < 12
    assert asked[JOBS] < 190


def test_one_slow_first_answer_does_not_count() -> None:
    """Ray starts the module that answers when it is first asked, which takes seconds."""
    schedule = Schedule(5.0)
    schedule.due({JOBS: 1}, 0)
    schedule.answered(JOBS, status=200, seconds=8.0, size=10)
    assert JOBS in schedule.due({JOBS: 1}, 5)


def test_tasks_are_polled_only_where_events_lack_their_log_ranges() -> None:
    assert TASKS in Known(ray_version="2.53.0").endpoints()
    assert TASKS not in Known(ray_version="2.54.1").endpoints()
    assert TASKS not in Known(ray_version="3.0.0.dev0").endpoints()
    assert TASKS not in Known(ray_version="nightly").endpoints()


def test_train_and_data_are_asked_for_when_their_actors_exist() -> None:
    known = Known(jobs=["01000000"])
    assert TRAIN not in known.endpoints()
    known.learn(ACTORS, b'{"actorClass": "TrainStateActor"}, {"actorClass": "_StatsActor"}')
    known.learn(ACTORS, b"{}")
    assert {TRAIN, "/api/data/datasets/01000000"} <= known.endpoints().keys(), "and ever after"


@pytest.mark.parametrize("endpoint", [SUMMARY, JOBS])
@pytest.mark.parametrize(
    "body", [[], {}, None, 1, "x", [1], [{"start_time": "x"}, {}], {"data": {"summary": [1]}}]
)
def test_an_answer_of_another_shape_says_nothing(endpoint: str, body: Any) -> None:
    known = Known()
    known.learn(endpoint, json.dumps(body).encode())
    assert (known.alive, known.jobs) == ([], [])


def test_no_id_of_the_network_becomes_an_endpoint_unchecked() -> None:
    known = Known(uses_data=True)
    known.learn(JOBS, json.dumps([{"job_id": "../x"}, {"job_id": "0a000000"}]).encode())
    node = {"raylet": {"state": "ALIVE", "nodeId": "../../api/jobs/x"}}
    known.learn(SUMMARY, json.dumps({"data": {"summary": [node]}}).encode())
    assert (known.alive, known.jobs) == ([], ["0a000000"])
