"""What the session's marker says besides times: learnt from the dashboard's answers as they pass by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from rayhist import layout
from rayhist.manifest import JobSummary
from rayhist.source import Answer

_OK = 200
_MAX_JOBS = 50
_MAX_ENTRYPOINT = 200


class Facts(msgspec.Struct):
    """`offset` is the head's offset from UTC, such as `+05:30`."""

    ray_version: str = ""
    python_version: str = ""
    cluster_uid: str = ""
    timezone: str = ""
    offset: str = ""
    jobs: list[JobSummary] = []

    def learn(self, answer: Answer) -> None:
        """Take from an answer what it says; what it says in another shape than expected is left."""
        reader = _READERS.get(layout.canonical_endpoint(answer.endpoint))
        if reader is None or answer.status != _OK:
            return
        try:
            reader(self, msgspec.json.decode(answer.body))
        except (msgspec.MsgspecError, AttributeError, KeyError, TypeError):
            return


def _version(facts: Facts, body: Any) -> None:
    facts.ray_version = str(body["ray_version"])[:64]


def _metadata(facts: Facts, body: Any) -> None:
    facts.ray_version = str(body["data"]["rayVersion"])[:64]
    facts.python_version = str(body["data"]["pythonVersion"])[:64]


def _cluster_id(facts: Facts, body: Any) -> None:
    facts.cluster_uid = str(body["data"]["clusterId"])[:128]


def _timezone(facts: Facts, body: Any) -> None:
    facts.timezone = str(body["value"])[:64]
    facts.offset = str(body["offset"])[:6]


def _jobs(facts: Facts, body: Any) -> None:
    jobs = sorted(body, key=lambda job: job.get("start_time") or 0, reverse=True)
    facts.jobs = [
        JobSummary(
            id=str(job.get("submission_id") or job.get("job_id") or "")[:256],
            status=str(job.get("status") or "")[:32],
            entrypoint=str(job.get("entrypoint") or "")[:_MAX_ENTRYPOINT],
        )
        for job in jobs[:_MAX_JOBS]
    ]


_READERS: dict[str, Callable[[Facts, Any], None]] = {
    "/api/version": _version,
    "/api/v0/cluster_metadata": _metadata,
    "/cluster_id": _cluster_id,
    "/timezone": _timezone,
    "/api/jobs": _jobs,
}
