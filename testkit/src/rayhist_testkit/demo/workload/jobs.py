"""Submitted jobs: succeeded, failed, stopped, without a driver, still running."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ray.job_submission import JobStatus, JobSubmissionClient

from rayhist.errors import RayhistError
from rayhist_testkit.cluster.waiting import until
from rayhist_testkit.demo.ledger import Job, Log
from rayhist_testkit.demo.workload import HANGS
from rayhist_testkit.demo.workload.run import PATIENCE_S, Finish, Run, until_exists

_DRIVER = "python -m rayhist_testkit.demo.workload.submitted"


def begin(run: Run) -> Finish:
    client = JobSubmissionClient(run.dashboard)
    stopped_file, running_file = run.folder / "stopped-job", run.folder / "running-job"
    succeeded = client.submit_job(entrypoint=f"{_DRIVER} succeed", metadata={"team": "demo"})
    failed = client.submit_job(entrypoint=f"{_DRIVER} fail")
    plain = client.submit_job(entrypoint="echo no Ray here; echo and this is stderr >&2")
    stopped = client.submit_job(entrypoint=f"{_DRIVER} hang", runtime_env=_telling(stopped_file))
    running = client.submit_job(
        entrypoint=f"{_DRIVER} hang", runtime_env=_telling(running_file), submission_id="demo-running.1"
    )
    run.ledger.jobs |= {
        "succeeded": Job(succeeded, "SUCCEEDED", message="successfully"),
        "failed": Job(failed, "FAILED", message="exit code 1"),
        "without a driver": Job(plain, "SUCCEEDED", message="successfully"),
        "stopped": Job(stopped, "STOPPED"),
        "running": Job(running, "RUNNING"),
    }

    def finish() -> None:
        until_ended(client, succeeded, JobStatus.SUCCEEDED)
        until_ended(client, failed, JobStatus.FAILED)
        until_ended(client, plain, JobStatus.SUCCEEDED)
        until_exists(stopped_file)
        client.stop_job(stopped)
        until_ended(client, stopped, JobStatus.STOPPED)
        until_exists(running_file)
        _expect_logs(run, client, succeeded, failed, plain)

    return finish


def _telling(file: Path) -> dict[str, Any]:
    """The runtime environment of a job that makes the file when it hangs."""
    return {"env_vars": {HANGS: str(file)}}


def until_ended(client: JobSubmissionClient, job: str, expected: JobStatus) -> None:
    """Raises `RayhistError` if the job goes on for too long, or ends otherwise than expected."""

    def ended() -> bool:
        return JobStatus(client.get_job_status(job)).is_terminal()

    until(ended, f"the job {job} has ended", within_s=PATIENCE_S, every_s=0.5)
    if client.get_job_status(job) != expected:
        raise RayhistError(f"the job {job} has not {expected}: {client.get_job_logs(job)[-2000:]}")


def _expect_logs(run: Run, client: JobSubmissionClient, succeeded: str, failed: str, plain: str) -> None:
    nodes = {job.submission_id: job.driver_node_id or "" for job in client.list_jobs()}

    def query(job: str) -> dict[str, str]:
        return {"node_id": nodes[job], "filename": f"job-driver-{job}.log"}

    run.ledger.logs["submitted job"] = Log(query(succeeded), lines=["submitted: grüß dich".encode()])
    run.ledger.logs["failed job"] = Log(query(failed), lines=[b"ValueError: the job failed on purpose"])
    run.ledger.logs["job without a driver"] = Log(query(plain), lines=[b"no Ray here", b"and this is stderr"])
