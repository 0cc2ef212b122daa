"""Jobs: drivers from events, submissions joined with their drivers, and what became of both at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from rayhist.events import Event, timestamp_ns
from rayhist.ids import IdKind, hex_from_base64
from rayhist.index import IndexWriter
from rayhist.replay.context import Context
from rayhist.replay.fold import Fold
from rayhist.replay.jobs_drivers import Driver, DriverEvents
from rayhist.replay.jobs_submissions import PENDING, RUNNING, PolledJob, Seen, submissions
from rayhist.replay.merging import as_shown, overlay, required_id, timed
from rayhist.replay.status import moment
from rayhist.resources import JOBS

JOB_LIST = "/api/jobs"
_NOT_RECORDED = "The job's driver has ended; whether the job succeeded was not recorded."


class JobFold(Fold):
    """Writes the jobs, and fills `context.job_end_ms`."""

    types = frozenset({"DRIVER_JOB_DEFINITION_EVENT", "DRIVER_JOB_LIFECYCLE_EVENT"})

    def __init__(self) -> None:
        self._events: dict[str, DriverEvents] = {}

    def add(self, event: Event) -> None:
        if (definition := event.driver_job_definition_event) is not None:
            at_ns = timestamp_ns(event.timestamp)
            hex_from_base64(IdKind.NODE, definition.driver_node_id)  # believable?  `drivers` relies on it
            self._of(definition.job_id).definitions.add(at_ns, definition)
        if (lifecycle := event.driver_job_lifecycle_event) is not None:
            transitions = timed(lifecycle.state_transitions)
            self._of(lifecycle.job_id).transitions.add(transitions)

    def _of(self, job_id: str) -> DriverEvents:
        return self._events.setdefault(required_id(IdKind.JOB, job_id), DriverEvents())

    def drivers(self) -> list[Driver]:
        """By job id."""
        return [events.driver(job_id) for job_id, events in sorted(self._events.items())]

    def write(self, context: Context, writer: IndexWriter) -> None:
        drivers = self.drivers()
        polled = list(_polled(context))
        jobs = _as_listed([*_submitted(context, drivers, polled), *_driven(context, drivers, polled)], polled)
        context.job_end_ms.update(_ends(drivers, jobs))
        if context.end.ended:
            jobs = [_concluded(job, context) for job in jobs]
        writer.rows(JOBS, jobs)
        for job in jobs:
            writer.document("job", _identifier(job), job)
        for alias, identifier in _aliases(drivers, jobs).items():
            writer.document("job.alias", alias, identifier)


def _polled(context: Context) -> Iterator[Seen]:
    answer = context.answers.good(JOB_LIST)
    if answer is None:
        return
    try:
        jobs = msgspec.json.decode(answer.body, type=list[PolledJob])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        context.problems.append(f"The recorded answer of {JOB_LIST}/ cannot be read: {error}.")
        return
    yield from (Seen(answer.fetched_at, msgspec.to_builtins(job)) for job in jobs)


def _as_listed(jobs: list[dict[str, Any]], polled: Sequence[Seen]) -> list[dict[str, Any]]:
    """In the order in which the dashboard last listed them; what it did not list comes last."""
    places = {_identifier(one.job): place for place, one in enumerate(polled)}
    return sorted(jobs, key=lambda job: places.get(_identifier(job), len(places)))


def _identifier(job: dict[str, Any]) -> str:
    """The id of the job's document."""
    return job["submission_id"] or job["job_id"] or ""


def _submitted(
    context: Context, drivers: Sequence[Driver], polled: Sequence[Seen]
) -> Iterator[dict[str, Any]]:
    """Submission jobs by start time, each with its last driver."""
    last = {driver.submission_id: driver for driver in drivers if driver.submission_id}
    found = submissions(context.exports.jobs, polled)
    unwitnessed = last.keys() - found.keys()
    found |= {identifier: _unwitnessed(last[identifier]) for identifier in sorted(unwitnessed)}
    if unwitnessed:
        context.problems.append(
            f"The outcome of {len(unwitnessed)} submission jobs is unknown: neither Ray's export file"
            " (RAY_enable_export_api_write=1) nor an answer of the dashboard has them."
        )
    for identifier, job in found.items():
        known = last.get(identifier)
        if known is not None and known.job_id >= (job["job_id"] or ""):
            job |= {"job_id": known.job_id, "driver_info": known.info(_ip(context, known))}
        yield job


def _unwitnessed(driver: Driver) -> dict[str, Any]:
    """A submission job of which only a driver is known."""
    return driver.job("") | {
        "type": "SUBMISSION",
        "job_id": None,
        "submission_id": driver.submission_id,
        "status": "STOPPED" if driver.end_ms else RUNNING,
        "message": _NOT_RECORDED if driver.end_ms else None,
        "end_time": driver.end_ms or None,
        "driver_node_id": driver.node_id or None,
    }


def _driven(context: Context, drivers: Sequence[Driver], polled: Sequence[Seen]) -> Iterator[dict[str, Any]]:
    """The jobs of the drivers that were started by hand, by job id."""
    by_hand = (one.job for one in polled if not one.job["submission_id"])
    shown = {job["job_id"]: job for job in by_hand if job["job_id"]}
    told = {one.job_id: one.job(_ip(context, one)) for one in drivers if not one.submission_id}
    for job_id in sorted(shown.keys() | told.keys()):
        job = dict.fromkeys(JOBS.columns) | overlay(shown.get(job_id, {}), told.get(job_id, {}))
        seen = shown.get(job_id, job)
        for name in ("start_time", "end_time"):
            job[name] = as_shown(job[name] or 0, seen[name])
        if job["status"] == RUNNING and seen["status"] != RUNNING:  # the event of its end was lost
            job |= {"status": seen["status"], "end_time": seen["end_time"]}
        yield {name: job[name] for name in JOBS.columns}


def _ip(context: Context, driver: Driver) -> str:
    node = context.node_states.get(driver.node_id, {})
    return node.get("node_ip") or ""


def _ends(drivers: Sequence[Driver], jobs: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Job id → when its driver finished, for those that did; epoch milliseconds."""
    ends = {job["job_id"]: job["end_time"] for job in jobs if job["job_id"] and job["end_time"]}
    return ends | {driver.job_id: driver.end_ms for driver in drivers if driver.end_ms}


def _concluded(job: dict[str, Any], context: Context) -> dict[str, Any]:
    """A job that was still going on when the cluster ended failed with it; it never succeeded."""
    status = job["status"] or "unknown"
    if status not in {PENDING, RUNNING, "unknown"}:
        return job
    at = moment(context.end.at_ms)
    message = f"The cluster ended at {at}; the job's last known status was {status}."
    end_ms = max(context.end.at_ms, job["start_time"] or 0)  # the last heartbeat may be older
    return job | {"status": "FAILED", "message": message, "end_time": end_ms}


def _aliases(drivers: Sequence[Driver], jobs: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Any id of a job → the id of its document; an earlier driver of a submission leads to it as well."""
    known = {job["submission_id"] for job in jobs}
    aliases = {driver.job_id: driver.submission_id for driver in drivers if driver.submission_id in known}
    for job in jobs:
        identifier = _identifier(job)
        aliases |= {one: identifier for one in (job["job_id"], identifier) if one}
    return aliases
