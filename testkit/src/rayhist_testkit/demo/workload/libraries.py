"""Ray Data, Serve and Train, each in a job of its own, since nobody counts the tasks they start."""

from __future__ import annotations

from ray.job_submission import JobStatus, JobSubmissionClient

from rayhist_testkit.demo.ledger import Dataset, Job
from rayhist_testkit.demo.workload import DATASET, TRAIN_RUN
from rayhist_testkit.demo.workload.jobs import until_ended
from rayhist_testkit.demo.workload.run import Finish, Run

_ENVIRONMENTS = {
    "data": {},
    # On a busy machine a proxy that starts slowly would be killed, and the job would fail with it.
    "serve": {"RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "60", "RAY_SERVE_PROXY_HEALTH_CHECK_TIMEOUT_S": "60"},
    "train": {"RAY_TRAIN_V2_ENABLED": "1"},
}


def begin(run: Run) -> Finish:
    client = JobSubmissionClient(run.dashboard)
    jobs = {name: _submit(client, name) for name in _ENVIRONMENTS}
    for name, job in jobs.items():
        run.ledger.jobs[f"Ray {name.capitalize()}"] = Job(job, "SUCCEEDED")
    run.ledger.applications = {"healthy": "RUNNING", "broken": "DEPLOY_FAILED"}
    run.ledger.train_runs = {TRAIN_RUN: "FINISHED"}

    def finish() -> None:
        for job in jobs.values():
            until_ended(client, job, JobStatus.SUCCEEDED)
        made_by = client.get_job_info(jobs["data"]).job_id or ""
        run.ledger.datasets = {DATASET: Dataset(made_by, "FINISHED")}

    return finish


def _submit(client: JobSubmissionClient, name: str) -> str:
    return client.submit_job(
        entrypoint=f"python -m rayhist_testkit.demo.workload.submitted_{name}",
        runtime_env={"env_vars": _ENVIRONMENTS[name]},
    )
