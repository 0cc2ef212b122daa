"""What a session's own page shows: the session, its jobs, every node it had, and what of it is missing."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rayhist import completeness
from rayhist.catalog import SessionEntry, State, named_ms
from rayhist.completeness import Completeness, NodeRecord
from rayhist.errors import RayhistError
from rayhist.ids import Session
from rayhist.manifest import SessionMarker
from rayhist.replay.report import Report
from rayhist_server.view import View
from rayhist_server.words import span, utc

MAX_JOBS = 500


class Job(msgspec.Struct, frozen=True):
    """A job; the dashboard has its page below `id`."""

    id: str
    submission: str
    status: str
    entrypoint: str
    start: str
    end: str
    message: str = ""


class Node(msgspec.Struct, frozen=True):
    """A node, also one that died before the session ended; the dashboard itself lists the logs of no such."""

    record: NodeRecord
    name: str
    state: str
    message: str
    start: str
    end: str
    life: str

    @property
    def events(self) -> int:
        return sum(stored.count for stored in self.record.events.values())

    @property
    def first_event(self) -> str:
        times = (stored.first_ms for stored in self.record.events.values() if stored.first_ms)
        return utc(min(times, default=0))

    @property
    def last_event(self) -> str:
        return utc(max((stored.last_ms for stored in self.record.events.values()), default=0))


class About(msgspec.Struct, frozen=True):
    """Everything on the page, in words."""

    session: Session
    marker: SessionMarker
    state: State
    start: str
    end: str
    ending: str
    ray_version: str
    python_version: str
    jobs: list[Job] = []
    more_jobs: int = 0
    nodes: list[Node] = []
    completeness: Completeness | None = None
    report: Report | None = None
    problem: str = ""
    """Why the session cannot be opened."""
    remedy: str = ""


def of_view(view: View) -> About:
    """The page of a session that was opened.  Blocks.  Raises `DataError` if its index is damaged."""
    found = completeness.report(view.index)
    jobs = [_job(body) for _, body in view.index.documents("job")]
    return About(
        session=view.session,
        marker=view.marker,
        state=State.RUNNING if not view.end.ended else State.ENDED if view.marker.end_ms else State.LOST,
        start=utc(view.marker.start_ms) or f"~{utc(named_ms(view.session))}",
        end=utc(view.end.at_ms) if view.end.ended else "",
        ending=view.end.reason or f"It goes on; it was last heard of at {utc(view.end.at_ms)}.",
        ray_version=view.ray_version,
        python_version=view.python_version,
        jobs=jobs[:MAX_JOBS],
        more_jobs=max(0, len(jobs) - MAX_JOBS),
        nodes=list(_nodes(view, found)),
        completeness=found,
        report=msgspec.convert(view.index.meta("report"), Report),
    )


def of_entry(entry: SessionEntry, error: RayhistError) -> About:
    """The page of a session that cannot be opened: what its marker says, and why not."""
    marker = entry.marker
    return About(
        session=entry.session,
        marker=marker,
        state=entry.state,
        start=("~" if entry.start_is_approximate else "") + utc(entry.start_ms),
        end=utc(marker.end_ms),
        ending="",
        ray_version=marker.ray_version,
        python_version=marker.python_version,
        jobs=[Job(job.id, "", job.status, job.entrypoint, "", "") for job in entry.jobs],
        problem=str(error),
        remedy=error.remedy or "",
    )


class _Job(msgspec.Struct):
    status: str = ""
    entrypoint: str = ""
    job_id: str | None = None
    submission_id: str | None = None
    start_time: int | None = None
    end_time: int | None = None
    message: str | None = None


def _job(body: bytes) -> Job:
    job = msgspec.json.decode(body, type=_Job, strict=False)
    return Job(
        id=job.job_id or job.submission_id or "",
        submission=job.submission_id or "",
        status=job.status,
        entrypoint=job.entrypoint,
        start=utc(job.start_time or 0),
        end=utc(job.end_time or 0),
        message=job.message or "",
    )


class _Raylet(msgspec.Struct, rename="camel"):
    node_name: str = ""
    state: str = ""
    state_message: str | None = None
    start_time_ms: int = 0
    end_time_ms: int = 0


class _Summary(msgspec.Struct):
    raylet: _Raylet


def _nodes(view: View, found: Completeness) -> Iterator[Node]:
    for record in found.nodes:
        body = view.index.document("node.summary", record.node_id)
        raylet = _Raylet() if body is None else msgspec.json.decode(body, type=_Summary, strict=False).raylet
        dead = raylet.state == "DEAD"
        stayed = view.end.ended and not dead
        end_ms = view.end.at_ms if stayed else raylet.end_time_ms
        yield Node(
            record=record,
            name=raylet.node_name,
            state="dead" if dead else "until the end" if stayed else "alive",
            message=(raylet.state_message or "") if dead else "",
            start=utc(raylet.start_time_ms),
            end=utc(end_ms),
            life=span(raylet.start_time_ms, end_ms),
        )
