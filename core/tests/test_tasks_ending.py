"""How an attempt ended that nobody reported an end of."""

from __future__ import annotations

from typing import Any

import pytest

from rayhist.replay.context import Context
from rayhist_testkit.task_events import (
    JOB,
    WORKER,
    Json,
    definition,
    in_base64,
    lifecycle,
    ms,
    new_context,
    row_of,
    states,
)

RUNNING = lifecycle(workerId=in_base64(WORKER), stateTransitions=states(PENDING_ARGS_AVAIL=1, RUNNING=2))
DEAD = {
    "is_alive": False,
    "end_time_ms": int(ms(9)),
    "exit_type": "SYSTEM_ERROR",
    "exit_detail": "killed by signal 9",
}


def _concluded(context: Context, *more: Json) -> dict[str, Any]:
    return row_of(definition(), RUNNING, *more, context=context)


def _ended(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("state", "error_type", "error_message", "end_time_ms"))


def test_while_the_session_goes_on_a_running_task_runs() -> None:
    row = _concluded(new_context())

    assert _ended(row) == ("RUNNING", None, None, None)


def test_with_its_job_a_task_fails_as_the_gcs_says() -> None:
    context = new_context()
    context.job_end_ms = {JOB.hex(): int(ms(7))}

    assert _ended(_concluded(context)) == (
        "FAILED",
        "WORKER_DIED",
        "Job finishes (01000000) as driver exits. Marking all non-terminal tasks as failed.",
        int(ms(7)),
    )


def test_with_its_worker_a_task_fails_as_the_gcs_says() -> None:
    context = new_context()
    context.workers = {WORKER.hex(): DEAD}

    message = (
        f"Worker running the task ({WORKER.hex()}) died with exit_type: SYSTEM_ERROR"
        " with error_message: killed by signal 9"
    )
    assert _ended(_concluded(context)) == ("FAILED", "WORKER_DIED", message, int(ms(9)))


@pytest.mark.parametrize("worker", [{**DEAD, "is_alive": True}, {**DEAD, "end_time_ms": 0}, {}])
def test_a_worker_that_is_not_known_to_have_died_fails_no_task(worker: Json) -> None:
    context = new_context()
    context.workers = {WORKER.hex(): worker}

    assert _concluded(context)["state"] == "RUNNING"


def test_with_the_cluster_a_task_ends_and_says_what_it_was_at() -> None:
    row = _concluded(new_context(ended_at_ms=int(ms(30))))

    message = (
        "The cluster ended at 2026-11-30 15:00:30 UTC while this task was RUNNING. How it ended is not known."
    )
    assert _ended(row) == ("FAILED", "WORKER_DIED", message, ms(30))
    assert [one["state"] for one in row["events"]] == ["PENDING_ARGS_AVAIL", "RUNNING", "FAILED"]


def test_a_task_that_was_never_heard_of_again_ends_with_the_cluster_too() -> None:
    row = row_of(definition(), context=new_context(ended_at_ms=int(ms(30))))

    assert row["state"] == "FAILED"
    assert "was NIL" in row["error_message"]


def test_what_a_task_was_at_is_its_state_not_what_was_told_last() -> None:
    late = lifecycle(stateTransitions=states(PENDING_NODE_ASSIGNMENT=20))

    assert "while this task was RUNNING" in _concluded(new_context(ended_at_ms=1), late)["error_message"]


def test_no_task_ends_before_it_was_last_heard_of() -> None:
    """The last sign of life of the cluster may be older: clocks differ, and heartbeats come seldom."""
    row = _concluded(new_context(ended_at_ms=int(ms(1))))

    assert row["end_time_ms"] == ms(2)


def test_times_that_no_calendar_has_end_as_well() -> None:
    odd = lifecycle(
        stateTransitions=[{"state": "RUNNING", "timestamp": "9999-12-31T23:59:59.000000000-14:00"}]
    )

    assert "a time that no calendar has" in _concluded(new_context(ended_at_ms=1), odd)["error_message"]


@pytest.mark.parametrize("state", ["FINISHED", "FAILED"])
def test_a_task_that_ended_by_itself_is_left_alone(state: str) -> None:
    context = new_context(ended_at_ms=int(ms(30)))
    context.job_end_ms = {JOB.hex(): int(ms(7))}
    context.workers = {WORKER.hex(): DEAD}
    row = _concluded(context, lifecycle(stateTransitions=states(**{state: 5})))

    assert _ended(row) == (state, None, None, ms(5))


def test_the_gcs_knows_better_than_the_clusters_end() -> None:
    context = new_context(ended_at_ms=int(ms(30)))
    context.job_end_ms = {JOB.hex(): int(ms(7))}

    assert _concluded(context)["end_time_ms"] == ms(7)
