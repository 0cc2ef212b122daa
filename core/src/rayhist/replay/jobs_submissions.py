"""Submission jobs, which Ray announces in no event: from its export files and from `/api/jobs/`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from rayhist.replay.exports import Job, JobLine
from rayhist.replay.merging import overlay
from rayhist.resources import JOBS

PENDING, RUNNING = "PENDING", "RUNNING"
_STAGES = {"": 0, PENDING: 1, RUNNING: 2}
_TERMINAL = 3


class PolledJob(msgspec.Struct):
    """A job as `/api/jobs/` answers it: `JobDetails` of Ray 2.60."""

    type: str
    status: str
    entrypoint: str = ""
    job_id: str | None = None
    submission_id: str | None = None
    driver_info: dict[str, Any] | None = None
    message: str | None = None
    error_type: str | None = None
    start_time: int | None = None
    end_time: int | None = None
    metadata: dict[str, str] | None = None
    runtime_env: dict[str, Any] | None = None
    driver_agent_http_address: str | None = None
    driver_node_id: str | None = None
    driver_exit_code: int | None = None


class Seen(msgspec.Struct):
    """A job as one source showed it: epoch milliseconds, and the job as `/api/jobs/` has it."""

    at_ms: int
    job: dict[str, Any]

    @property
    def rank(self) -> tuple[int, int, bytes]:
        """A later stage of a job's life beats an earlier one, then a later sight; content decides ties."""
        stage = _STAGES.get(self.job["status"], _TERMINAL)
        return stage, self.at_ms, msgspec.json.encode(self.job, order="deterministic")


def submissions(exported: Iterable[JobLine], polled: Iterable[Seen]) -> dict[str, dict[str, Any]]:
    """Submission id → job, without the driver's part; by start time."""
    seen: dict[str, list[Seen]] = {}
    for line in exported:
        seen.setdefault(line.job.submission_job_id, []).append(Seen(line.at_s * 1000, _exported(line.job)))
    for one in polled:
        if one.job["submission_id"]:
            seen.setdefault(one.job["submission_id"], []).append(one)
    found = {identifier: _merged(all_seen) for identifier, all_seen in seen.items()}
    return dict(sorted(found.items(), key=lambda item: (item[1].get("start_time") or 0, item[0])))


def _merged(seen: list[Seen]) -> dict[str, Any]:
    job: dict[str, Any] = dict.fromkeys(JOBS.columns)
    for one in sorted(seen, key=lambda one: one.rank):
        job = overlay(job, one.job)
    return {name: job[name] for name in JOBS.columns}


def _exported(job: Job) -> dict[str, Any]:
    return {
        "type": "SUBMISSION",
        "submission_id": job.submission_job_id,
        "status": job.status,
        "entrypoint": job.entrypoint,
        "message": job.message,
        "error_type": job.error_type,
        "start_time": job.start_time,
        "end_time": job.end_time,
        "metadata": job.metadata,
        "runtime_env": runtime_env(job.runtime_env_json),
        "driver_agent_http_address": job.driver_agent_http_address,
        "driver_node_id": job.driver_node_id,
        "driver_exit_code": job.driver_exit_code,
    }


def runtime_env(serialized: str) -> dict[str, Any]:
    """A serialized runtime environment as `/api/jobs/` shows it; one that cannot be read is empty."""
    try:
        return msgspec.json.decode(serialized or "{}", type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return {}
