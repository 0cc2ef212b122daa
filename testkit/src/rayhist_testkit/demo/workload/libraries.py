"""Ray Data, Serve and Train, each in a job of its own, since nobody counts the tasks they start."""

from __future__ import annotations

from ray.job_submission import JobSubmissionClient

from rayhist_testkit.demo.ledger import Dataset, Job
from rayhist_testkit.demo.workload import DATASET, TRAIN_RUN
from rayhist_testkit.demo.workload.jobs import until_ended
from rayhist_testkit.demo.workload.run import Finish, Run

_LIBRARIES = ("data", "serve", "train")


def begin(run: Run) -> Finish:
    client = JobSubmissionClient(run.dashboard)
    jobs = {name: client.submit_job(entrypoint=_entrypoint(name)) for name in _LIBRARIES}
    for name, job in jobs.items():
        run.ledger.jobs[f"Ray {name.capitalize()}"] = Job(job, "SUCCEEDED")
    run.ledger.applications = {"healthy": "RUNNING", "broken": "DEPLOY_FAILED"}
    run.ledger.train_runs = {TRAIN_RUN: "FINISHED"}

    def finish() -> None:
        for job in jobs.values():
            until_ended(client, job)
        made_by = client.get_job_info(jobs["data"]).job_id or ""
        run.ledger.datasets = {DATASET: Dataset(made_by, "FINISHED")}

    return finish


def _entrypoint(name: str) -> str:
    return f"python -m rayhist_testkit.demo.workload.submitted_{name}"
