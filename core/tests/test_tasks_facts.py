"""What each event says of a task, and what is made of it."""

from __future__ import annotations

import json
import random

import pytest

from rayhist import events
from rayhist.errors import DataError
from rayhist.replay.tasks import TaskFold
from rayhist.replay.tasks.profile import MAX_ENTRIES
from rayhist_testkit.task_events import (
    ACTOR,
    CREATION,
    JOB,
    NODE,
    TASK,
    WORKER,
    Json,
    actor_task,
    definition,
    entry,
    in_base64,
    lifecycle,
    ms,
    new_context,
    profile,
    python,
    row_of,
    rows_of,
    states,
)


def test_a_definition_alone_is_a_task_of_no_state() -> None:
    row = row_of(definition())

    assert (row["state"], row["events"], row["creation_time_ms"]) == ("NIL", [], None)
    assert (row["node_id"], row["worker_id"], row["worker_pid"], row["task_log_info"]) == (None,) * 4
    assert row["required_resources"] == {"CPU": 1.0}
    assert row["placement_group_id"] is None
    assert row["parent_task_id"] == "ff" * 20 + "01000000"


def test_without_a_definition_there_is_no_row_but_a_word_of_it() -> None:
    """As the GCS does; but nothing vanishes silently."""
    context = new_context()

    assert rows_of(lifecycle(stateTransitions=states(RUNNING=1)), context=context) == []
    [problem] = context.problems
    assert "1 task attempts are not shown" in problem
    assert "01000000 (1)" in problem


def test_profiles_of_tasks_that_have_no_events_are_not_worth_a_word() -> None:
    """Ray sends them for its internal actors all the time."""
    context = new_context()

    assert rows_of(profile(entry("x", 1, 2)), context=context) == []
    assert context.problems == []


def test_the_state_is_the_last_in_rays_order_not_the_latest_in_time() -> None:
    entered = states(FINISHED=3, RUNNING=9, PENDING_ARGS_AVAIL=1)
    row = row_of(lifecycle(stateTransitions=entered), definition())

    assert row["state"] == "FINISHED"
    assert row["events"] == [
        {"state": "PENDING_ARGS_AVAIL", "created_ms": ms(1)},
        {"state": "RUNNING", "created_ms": ms(9)},
        {"state": "FINISHED", "created_ms": ms(3)},
    ]
    assert [row[name] for name in ("creation_time_ms", "start_time_ms", "end_time_ms")] == [
        ms(1),
        ms(9),
        ms(3),
    ]


def test_a_state_that_was_entered_again_has_its_latest_time() -> None:
    row = row_of(
        definition(),
        lifecycle(stateTransitions=states(RUNNING_IN_RAY_GET=5)),
        lifecycle(stateTransitions=states(RUNNING_IN_RAY_GET=2)),
    )

    assert row["events"] == [{"state": "RUNNING_IN_RAY_GET", "created_ms": ms(5)}]


def test_a_state_of_a_later_ray_is_named_and_left_out() -> None:
    context = new_context()
    row = row_of(definition(), lifecycle(stateTransitions=states(DREAMING=2, RUNNING=1)), context=context)

    assert row["state"] == "RUNNING"
    assert context.problems == ["Tasks were in states that this version does not know: DREAMING"]


def test_each_attempt_is_a_row_of_its_own_the_last_first() -> None:
    rows = rows_of(
        lifecycle(attempt=0, stateTransitions=states(FAILED=1)),
        definition(attempt=0),
        definition(attempt=1),
        lifecycle(attempt=1, stateTransitions=states(FINISHED=2)),
    )

    assert [(row["attempt_number"], row["state"]) for row in rows] == [(1, "FINISHED"), (0, "FAILED")]


def test_what_is_empty_never_overwrites_what_is_known() -> None:
    """An owner knows node and worker, a worker the pid; each sends zeros for what it does not know."""
    known = {"nodeId": in_base64(NODE), "workerId": in_base64(WORKER)}
    nil = {"nodeId": in_base64(b"\xff" * 28), "workerId": in_base64(b"\xff" * 28)}
    row = row_of(definition(), lifecycle(**known), lifecycle(workerPid=42), lifecycle(**nil), lifecycle())

    assert (row["node_id"], row["worker_id"], row["worker_pid"]) == (NODE.hex(), WORKER.hex(), 42)


def test_a_definition_that_came_damaged_and_whole_is_whole() -> None:
    whole, bare = definition(), definition(taskName="", requiredResources={}, taskFunc=None)

    assert row_of(bare, whole) == row_of(whole, bare) == row_of(whole)


def test_where_the_output_stands_is_put_together_and_what_is_not_known_is_left_out() -> None:
    begun = {"stdoutFile": "/logs/w.out", "stderrFile": "/logs/w.err", "stdoutStart": "0", "stderrStart": "7"}
    ended = {"stdoutEnd": "30", "stderrEnd": "7"}

    assert row_of(definition(), lifecycle(taskLogInfo=begun))["task_log_info"] == {
        "stdout_file": "/logs/w.out",
        "stderr_file": "/logs/w.err",
        "stdout_start": 0,
        "stderr_start": 7,
    }
    assert row_of(definition(), lifecycle(taskLogInfo=ended), lifecycle(taskLogInfo=begun))[
        "task_log_info"
    ] == {
        "stdout_file": "/logs/w.out",
        "stderr_file": "/logs/w.err",
        "stdout_start": 0,
        "stdout_end": 30,
        "stderr_start": 7,
        "stderr_end": 7,
    }


def test_an_error_is_shown_without_colours_once_the_task_has_failed() -> None:
    error = {"errorType": "TASK_EXECUTION_EXCEPTION", "errorMessage": "\x1b[36mray::f()\x1b[39m boom"}
    failed = lifecycle(rayErrorInfo=error, stateTransitions=states(FAILED=2))
    going = lifecycle(rayErrorInfo=error, stateTransitions=states(RUNNING=2))

    row = row_of(definition(), failed)
    assert (row["error_type"], row["error_message"]) == ("TASK_EXECUTION_EXCEPTION", "ray::f() boom")
    row = row_of(definition(), going)
    assert (row["error_type"], row["error_message"]) == (None, None)


def test_of_two_errors_the_later_one_counts() -> None:
    early = lifecycle(said=1, rayErrorInfo={"errorType": "WORKER_DIED", "errorMessage": "z"})
    late = lifecycle(said=2, rayErrorInfo={"errorType": "OUT_OF_MEMORY", "errorMessage": "a"})
    failed = lifecycle(stateTransitions=states(FAILED=2))

    for pair in ((early, late), (late, early)):
        assert row_of(definition(), failed, *pair)["error_type"] == "OUT_OF_MEMORY"


def test_a_task_that_left_the_debugger_is_not_paused() -> None:
    pauses = [lifecycle(said=1, isDebuggerPaused=True), lifecycle(said=2, isDebuggerPaused=False)]

    assert row_of(definition(), *pauses)["is_debugger_paused"] is False
    assert row_of(definition(), *reversed(pauses))["is_debugger_paused"] is False


def test_an_actors_creation_task_names_the_actor() -> None:
    """Its event does not: the actor's id is the end of the task's."""
    fields = {"taskType": "ACTOR_CREATION_TASK", "taskFunc": python("__init__", "m.Outer.<locals>.A")}
    row = row_of(definition(CREATION, **fields))

    assert row["actor_id"] == ACTOR.hex()
    assert row["func_or_class_name"] == "<locals>.A.__init__".rpartition("<locals>.")[2]


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (python("Outer.<locals>.f"), "f"),
        (python("f", "m.A"), "A.f"),
        ({"javaFunctionDescriptor": {"className": "io.ray.A", "functionName": "run"}}, "A.run"),
        ({"cppFunctionDescriptor": {"className": "A", "functionName": "Run"}}, "A::Run"),
        ({"cppFunctionDescriptor": {"functionName": "Run"}}, "Run"),
        ({}, ""),
        (None, ""),
    ],
)
def test_functions_are_called_as_ray_calls_them(function: Json | None, name: str) -> None:
    assert row_of(definition(taskFunc=function))["func_or_class_name"] == name


def test_an_actor_that_says_what_it_is_called_names_its_tasks_unless_the_caller_did() -> None:
    task = bytes(8) + ACTOR
    said = lifecycle(task, actorReprName="my actor")

    assert row_of(actor_task(task), said)["name"] == "my actor.m"
    assert row_of(actor_task(task, actorTaskName="mine"), said)["name"] == "mine"
    assert row_of(definition(), lifecycle(actorReprName="my actor"))["name"] == "f"


def test_a_drivers_own_task_has_neither_name_nor_strategy() -> None:
    driver = b"\xff" * 20 + JOB
    fields = {"taskType": "DRIVER_TASK", "taskFunc": {}, "taskName": "", "serializedRuntimeEnv": ""}
    row = row_of(definition(driver, parentTaskId=in_base64(b"\xff" * 24), **fields))

    assert (row["name"], row["func_or_class_name"], row["fallback_strategy"]) == ("", "", None)
    assert row["parent_task_id"] == "ff" * 24
    assert row["runtime_env_info"] == {"serialized_runtime_env": ""}


CONFIG = {"setup_timeout_seconds": 600, "eager_install": True, "log_files": []}


@pytest.mark.parametrize(
    ("env", "uris", "config"),
    [
        ({}, None, CONFIG),
        ({"env_vars": {"A": "1"}}, None, CONFIG),
        ({"working_dir": "gcs://a.zip"}, {"working_dir_uri": "gcs://a.zip", "py_modules_uris": []}, CONFIG),
        (
            {"py_modules": ["gcs://b.zip"]},
            {"working_dir_uri": "", "py_modules_uris": ["gcs://b.zip"]},
            CONFIG,
        ),
        ({"config": {"eager_install": False, "new": 1}}, None, {**CONFIG, "eager_install": False}),
        ({"config": 3}, None, CONFIG),
    ],
)
def test_packages_and_settings_are_derived_from_the_environment(
    env: Json, uris: Json | None, config: Json
) -> None:
    info = row_of(definition(serializedRuntimeEnv=json.dumps(env)))["runtime_env_info"]

    assert json.loads(info["serialized_runtime_env"]) == env
    assert info.get("uris") == uris
    assert info["runtime_env_config"] == config


def test_an_environment_that_is_no_json_is_shown_as_it_is() -> None:
    info = row_of(definition(serializedRuntimeEnv="{torn"))["runtime_env_info"]

    assert info == {"serialized_runtime_env": "{torn", "runtime_env_config": CONFIG}


def test_profiles_are_milliseconds_by_end_each_once_whether_they_come_first_or_last() -> None:
    own = json.dumps({"name": "m.f", "task_id": TASK.hex()})
    first = profile(entry("outer", 1_000_500, 9_000_000, own), entry("inner", 2_000_000, 3_000_000))
    second = profile(entry("inner", 2_000_000, 3_000_000), entry("last", 9_000_000, 9_500_000))

    data = row_of(second, definition(), first)["profiling_data"]
    assert data == row_of(definition(), first, second, second)["profiling_data"]
    assert data == {
        "component_type": "worker",
        "component_id": WORKER.hex(),
        "node_ip_address": "10.0.0.1",
        "events": [
            {"event_name": "inner", "start_time": 2.0, "end_time": 3.0, "extra_data": {}},
            {"event_name": "outer", "start_time": 1.0005, "end_time": 9.0, "extra_data": json.loads(own)},
            {"event_name": "last", "start_time": 9.0, "end_time": 9.5, "extra_data": {}},
        ],
    }


def test_of_very_many_profile_entries_as_many_are_kept_as_ray_keeps() -> None:
    """The first by their end, in whatever order they came."""
    entries = [profile(entry("poll", number, number + 1)) for number in range(3 * MAX_ENTRIES)]
    random.Random(1).shuffle(entries)
    data = row_of(definition(), *entries)["profiling_data"]

    assert [one["end_time"] for one in data["events"]] == [
        (number + 1) / 1e6 for number in range(MAX_ENTRIES)
    ]


def test_what_profiles_of_many_tasks_have_in_common_is_kept_once() -> None:
    """A million tasks must not keep a million copies of `{"name": "f", "task_id": …}`."""
    fold = TaskFold()
    for number in range(100):
        task = number.to_bytes(8, "big") + TASK[8:]
        extra = json.dumps({"name": "m.f", "task_id": task.hex()})
        posted = profile(entry("task::f", 1, 2, extra), entry("task:execute", 1, 2), task=task)
        fold.add(events.decode(json.dumps(posted).encode()))

    assert len(fold._profiles._extras) == 2


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (definition(b"short"), "a task id has 24 bytes, not 5"),
        (lifecycle(nodeId="?"), "not a base64 node id"),
        (lifecycle(workerId=in_base64(NODE[:4])), "a worker id has 28 bytes, not 4"),
        (definition(jobId=in_base64(NODE)), "a job id has 4 bytes, not 28"),
        (lifecycle(stateTransitions=[{"state": "RUNNING", "timestamp": "soon"}]), "not an RFC 3339 time"),
        (lifecycle(stateTransitions=[{"state": "RUNNING"}]), "not an RFC 3339 time"),
        (profile(entry("x", 1, 2, "[]")), "no JSON object"),
        (profile(entry("x", 1, 2, "{torn")), "no JSON object"),
        ({"eventType": "TASK_LIFECYCLE_EVENT"}, "says nothing of a task"),
    ],
)
def test_what_cannot_be_believed_is_refused_and_named(event: Json, words: str) -> None:
    with pytest.raises(DataError, match=words):
        TaskFold().add(events.decode(json.dumps(event).encode()))
