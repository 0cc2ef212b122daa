"""Jobs: drivers, submissions with their drivers, and the end that nobody announced."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayhist.replay.exports import Exports
from rayhist.resources import JOBS
from rayhist_testkit.folding import ENDED, Folded, answer, event, fold, in_base64

NODE = "ab" * 28
NODE_EVENT = event("NODE_DEFINITION_EVENT", nodeId=in_base64(NODE), nodeIpAddress="10.0.0.1")
ENDED_AT = "The cluster ended at 2026-11-30 17:33:20 UTC"


def driver(job: str, *states: str, submission: str = "", **fields: object) -> list[dict[str, Any]]:
    """A driver's two events; its states follow each other by a minute, from 15:30."""
    transitions = [{"state": one, "timestamp": f"2026-11-30T15:3{at}:00Z"} for at, one in enumerate(states)]
    known = {
        "jobId": in_base64(job),
        "driverPid": "77",
        "driverNodeId": in_base64(NODE),
        "entrypoint": "python x.py",
        "config": {
            "serializedRuntimeEnv": '{"env_vars": {"A": "b"}}',
            "metadata": {"job_submission_id": submission} if submission else {"team": "x"},
        },
    }
    return [
        event("DRIVER_JOB_DEFINITION_EVENT", **(known | fields)),
        event("DRIVER_JOB_LIFECYCLE_EVENT", jobId=in_base64(job), stateTransitions=transitions),
    ]


def exported(*jobs: dict[str, Any], first_s: int = 1796052600) -> Exports:
    """Lines of the export file, a second apart."""
    lines = [
        msgspec.json.encode({"timestamp": first_s + at, "event_data": job}) for at, job in enumerate(jobs)
    ]
    exports = Exports()
    assert exports.add("export_events/event_EXPORT_SUBMISSION_JOB.log", b"\n".join(lines) + b"\n") == ""
    return exports


def submission(status: str, **fields: object) -> dict[str, Any]:
    known = {"submission_job_id": "raysubmit_1", "status": status, "entrypoint": "sh x.sh"}
    return known | {"start_time": "1796052600000", "runtime_env_json": '{"pip": ["a"]}'} | fields


def polled(*jobs: dict[str, Any], at_ms: int = 1796052601000) -> Any:
    return answer("/api/jobs/", list(jobs), at_ms=at_ms)


def shown(status: str, **fields: object) -> dict[str, Any]:
    known = {"type": "SUBMISSION", "submission_id": "raysubmit_1", "status": status, "entrypoint": "sh x.sh"}
    return known | {"start_time": 1796052600000} | fields


def jobs(folded: Folded) -> dict[str, Any]:
    return folded.documents("job")


def test_a_running_driver_has_no_end() -> None:
    """As live: 0, not null; its address is its node's; nothing tells its exit code."""
    folded = fold([NODE_EVENT, *driver("01000000", "CREATED")])

    assert jobs(folded) == {
        "01000000": {
            "job_id": "01000000",
            "submission_id": None,
            "entrypoint": "python x.py",
            "type": "DRIVER",
            "status": "RUNNING",
            "message": None,
            "error_type": None,
            "driver_info": {"id": "01000000", "node_ip_address": "10.0.0.1", "pid": "77"},
            "start_time": 1796052600000,
            "end_time": 0,
            "metadata": {"team": "x"},
            "runtime_env": {"env_vars": {"A": "b"}},
            "driver_agent_http_address": None,
            "driver_node_id": None,
            "driver_exit_code": None,
        }
    }
    assert folded.rows(JOBS) == list(jobs(folded).values())
    assert folded.context.job_end_ms == {}


def test_a_driver_that_ended_succeeded_as_far_as_ray_can_tell() -> None:
    folded = fold(driver("01000000", "CREATED", "FINISHED"))

    assert (jobs(folded)["01000000"]["status"], jobs(folded)["01000000"]["end_time"]) == (
        "SUCCEEDED",
        1796052660000,
    )
    assert folded.context.job_end_ms == {"01000000": 1796052660000}


def test_a_submission_is_joined_with_its_last_driver() -> None:
    """Two drivers in one entrypoint; neither is a job of its own."""
    events = [
        NODE_EVENT,
        *driver("03000000", "CREATED", submission="raysubmit_1"),
        *driver("02000000", "CREATED", "FINISHED", submission="raysubmit_1"),
    ]
    folded = fold(events, exports=exported(submission("PENDING"), submission("RUNNING", driver_node_id=NODE)))
    job = jobs(folded)["raysubmit_1"]

    assert list(jobs(folded)) == ["raysubmit_1"]
    assert (job["type"], job["status"], job["job_id"]) == ("SUBMISSION", "RUNNING", "03000000")
    assert (job["driver_info"]["id"], job["driver_node_id"]) == ("03000000", NODE)
    assert (job["end_time"], job["driver_exit_code"], job["runtime_env"]) == (None, None, {"pip": ["a"]})
    assert folded.documents("job.alias") == dict.fromkeys(
        ("02000000", "03000000", "raysubmit_1"), "raysubmit_1"
    )


@pytest.mark.parametrize(
    ("lines", "answers", "expected"),
    [
        pytest.param(
            [submission("RUNNING"), submission("FAILED", end_time="9", driver_exit_code=3)],
            [shown("RUNNING")],
            ("FAILED", 9, 3),
            id="an export that knows an end beats a later poll that does not",
        ),
        pytest.param(
            [submission("RUNNING")],
            [shown("SUCCEEDED", end_time=8, driver_exit_code=0)],
            ("SUCCEEDED", 8, 0),
            id="a poll that knows an end beats an export that does not",
        ),
        pytest.param(
            [submission("STOPPED", end_time="9", driver_exit_code=7)],
            [shown("STOPPED", end_time=9, driver_exit_code=None)],
            ("STOPPED", 9, 7),
            id="a field that a later source leaves out is kept",
        ),
    ],
)
def test_the_source_that_knows_more_of_a_submission_wins(
    lines: list[dict[str, Any]], answers: list[dict[str, Any]], expected: tuple[object, ...]
) -> None:
    """The poll comes three seconds after the first line of the export file."""
    folded = fold([], exports=exported(*lines), answers=[polled(*answers, at_ms=1796052603000)])
    job = jobs(folded)["raysubmit_1"]

    assert (job["status"], job["end_time"], job["driver_exit_code"]) == expected


def test_an_unknown_exit_code_is_null_and_no_success() -> None:
    job = jobs(fold([], exports=exported(submission("RUNNING"), submission("FAILED", end_time="9"))))

    assert job["raysubmit_1"]["driver_exit_code"] is None


@pytest.mark.parametrize("status", ["PENDING", "RUNNING"])
def test_a_submission_that_outlived_its_cluster_failed_with_it(status: str) -> None:
    """Its duration would otherwise grow for ever in the browser."""
    job = jobs(fold([], exports=exported(submission(status)), end=ENDED))["raysubmit_1"]

    assert (job["status"], job["end_time"]) == ("FAILED", ENDED.at_ms)
    assert job["message"] == f"{ENDED_AT}; the job's last known status was {status}."


def test_a_driver_that_outlived_its_cluster_failed_with_it() -> None:
    """When its driver ended stays unknown to the tasks, which have an end of their own then."""
    folded = fold(driver("01000000", "CREATED"), end=ENDED)
    job = jobs(folded)["01000000"]

    assert (job["status"], job["end_time"]) == ("FAILED", ENDED.at_ms)
    assert job["message"] == f"{ENDED_AT}; the job's last known status was RUNNING."
    assert folded.context.job_end_ms == {}


def test_what_had_ended_before_the_cluster_is_left_alone() -> None:
    events = driver("01000000", "CREATED", "FINISHED")
    lines = exported(submission("SUCCEEDED", end_time="9", message="Job finished successfully."))

    assert jobs(fold(events, exports=lines, end=ENDED)) == jobs(fold(events, exports=lines))


def test_a_submission_known_by_its_driver_alone_never_succeeds() -> None:
    """Without export file and poll, nobody knows; Ray would not list it at all."""
    folded = fold(driver("02000000", "CREATED", submission="raysubmit_1"))
    going = jobs(folded)["raysubmit_1"]
    ended = jobs(fold(driver("02000000", "CREATED", "FINISHED", submission="raysubmit_1")))["raysubmit_1"]

    assert (going["status"], going["end_time"], going["job_id"]) == ("RUNNING", None, "02000000")
    assert (ended["status"], ended["end_time"]) == ("STOPPED", 1796052660000)
    assert ended["message"] == "The job's driver has ended; whether the job succeeded was not recorded."
    assert any("The outcome of 1 submission jobs is unknown" in one for one in folded.problems)


def test_jobs_are_known_from_the_polled_list_alone() -> None:
    by_hand = {"type": "DRIVER", "job_id": "01000000", "status": "SUCCEEDED", "end_time": 8, "start_time": 7}
    folded = fold([], answers=[polled(shown("RUNNING", job_id="02000000"), by_hand)])

    assert list(jobs(folded)) == ["raysubmit_1", "01000000"]
    assert jobs(folded)["raysubmit_1"]["job_id"] == "02000000"
    assert folded.context.job_end_ms == {"01000000": 8}


def test_an_end_that_only_the_poll_saw_counts() -> None:
    """The driver's last event was lost; what the event knew of the driver stays."""
    by_hand = {"type": "DRIVER", "job_id": "01000000", "status": "SUCCEEDED", "end_time": 8, "entrypoint": ""}
    job = jobs(fold(driver("01000000", "CREATED"), answers=[polled(by_hand)], end=ENDED))["01000000"]

    assert (job["status"], job["end_time"], job["entrypoint"]) == ("SUCCEEDED", 8, "python x.py")


def test_submissions_keep_the_order_of_the_polled_list() -> None:
    """Ray lists them in no order of its own; those that the list lacks follow."""
    ids = [f"raysubmit_{letter}" for letter in "cab"]
    answers = [polled(*(shown("RUNNING", submission_id=one) for one in ids))]
    folded = fold([], exports=exported(submission("RUNNING")), answers=answers)

    assert list(jobs(folded)) == [*ids, "raysubmit_1"]


def test_a_time_that_an_answer_shows_is_exact() -> None:
    """Events are stamped a little later than Ray's own tables; one that is far off is another time."""
    by_hand = {"type": "DRIVER", "job_id": "01000000", "status": "SUCCEEDED"}
    near, far = {"start_time": 1796052599999, "end_time": 1796052659998}, {"end_time": 1796052600000}
    events = driver("01000000", "CREATED", "FINISHED")
    exact = jobs(fold(events, answers=[polled(by_hand | near)]))["01000000"]
    other = jobs(fold(events, answers=[polled(by_hand | far)]))["01000000"]

    assert (exact["start_time"], exact["end_time"]) == (1796052599999, 1796052659998)
    assert (other["start_time"], other["end_time"]) == (1796052600000, 1796052660000)


def test_submissions_come_first_by_their_start_then_drivers_by_id() -> None:
    later = submission("RUNNING", submission_job_id="raysubmit_0", start_time="1796052700000")
    events = [*driver("04000000", "CREATED"), *driver("01000000", "CREATED")]

    assert list(jobs(fold(events, exports=exported(later, submission("RUNNING"))))) == [
        "raysubmit_1",
        "raysubmit_0",
        "01000000",
        "04000000",
    ]


@pytest.mark.parametrize("body", [{"jobs": []}, [{"type": "DRIVER"}], "gone"])
def test_a_list_of_another_shape_is_named(body: object) -> None:
    folded = fold(driver("01000000", "CREATED"), answers=[answer("/api/jobs/", body)])

    assert list(jobs(folded)) == ["01000000"]
    assert any("The recorded answer of /api/jobs/ cannot be read" in one for one in folded.problems)


@pytest.mark.parametrize("serialized", ["", "{", "[1]", "null"])
def test_a_runtime_environment_that_cannot_be_read_is_empty(serialized: str) -> None:
    config = {"serializedRuntimeEnv": serialized, "metadata": {}}

    assert jobs(fold(driver("01000000", "CREATED", config=config)))["01000000"]["runtime_env"] == {}
