"""Ray's export files, read out of the recorded log files."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from rayhist.replay.exports import WANTED, Exports
from rayhist_testkit.recordings import LIVE, Recording

JOBS = "export_events/event_EXPORT_SUBMISSION_JOB.log"
DATASETS = "export_events/event_EXPORT_DATASET_METADATA.log"


def line(**data: object) -> bytes:
    return msgspec.json.encode({"event_id": "x", "timestamp": 5, "event_data": data}) + b"\n"


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        (JOBS, True),
        (f"{JOBS}.1", True),
        (f"{DATASETS}.20", True),
        ("export_events/event_EXPORT_TASK_123.log", False),
        (f"old/{JOBS}", False),
        (f"{JOBS}.gz", False),
    ],
)
def test_the_wanted_files_include_rotated_ones(path: str, wanted: bool) -> None:
    assert bool(WANTED.match(path)) is wanted


def test_numbers_come_as_text_and_fields_may_be_absent() -> None:
    """As protoJSON prints them: 64-bit numbers as text, and nothing for what has no value."""
    exports = Exports()

    assert exports.add(JOBS, line(submission_job_id="a", start_time="1796052665804", status="PENDING")) == ""
    [found] = exports.jobs
    assert (found.at_s, found.job.start_time, found.job.end_time) == (5, 1796052665804, None)
    assert (found.job.driver_exit_code, found.job.message, found.job.metadata) == (None, None, {})


def test_a_bad_line_costs_that_line() -> None:
    """Not JSON, without an id, of a wrong type, torn at the end."""
    lines = (
        b"{\n" + line(status="RUNNING") + line(submission_job_id=7) + line(submission_job_id="a") + b'{"event'
    )
    exports = Exports()

    assert exports.add(JOBS, lines) != ""
    assert [one.job.submission_job_id for one in exports.jobs] == ["a"]


def test_the_recorded_files_are_found_among_the_logs(
    recording: Recording, replayed: Callable[[str], Any]
) -> None:
    """The head wrote them; what they say of jobs is compared with the dashboard's list elsewhere."""
    exports = Exports()
    for _, path, data in recording.logs():
        if WANTED.match(path):
            assert exports.add(path, data) == ""

    assert (len(exports.jobs), len(exports.datasets)) == (32, 9)
    assert len({one.job.submission_job_id for one in exports.jobs}) == 12
    jobs = replayed(LIVE).documents("job")
    assert {one.job.submission_job_id for one in exports.jobs} <= jobs.keys()


def test_without_export_files_jobs_come_from_the_poll(recording: Recording, tmp_path: Any) -> None:
    """The same twelve submissions, as the Job API listed them."""
    from rayhist.index import Index
    from rayhist.memory import MemoryStore
    from rayhist.replay import replay
    from rayhist_testkit.recordings import lay_out

    async def run() -> Index:
        store = MemoryStore()
        session = await lay_out(store, recording.folder, moment=LIVE, logs=False)
        await replay(store, session, tmp_path / "index", clock=recording.clock(LIVE))
        return Index(tmp_path / "index")

    index = asyncio.run(run())
    jobs = {identifier: msgspec.json.decode(body) for identifier, body in index.documents("job")}
    index.close()
    live = {job["submission_id"] or job["job_id"]: job for job in recording.answer("/api/jobs/").value}

    assert {name: job["status"] for name, job in jobs.items()} == {
        name: job["status"] for name, job in live.items()
    }
    assert jobs["raysubmit_jqduWvKRXXNB8Tz4"] == live["raysubmit_jqduWvKRXXNB8Tz4"]
