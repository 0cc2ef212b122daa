"""What the dashboard knew of the cluster as a whole, and what it says of itself.

Messages: `ray.dashboard.modules` of Ray 2.60.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from litestar import Response

from rayhist import completeness
from rayhist.completeness import Completeness
from rayhist.manifest import SessionMarker
from rayhist.replay.context import End
from rayhist.replay.report import Report
from rayhist_server import query_params, wire
from rayhist_server.answers import json_answer
from rayhist_server.routes.answering import answers
from rayhist_server.session_scope import SessionRequest
from rayhist_server.view import View

_NOT_RECORDED = "No cluster status was recorded."
_PROFILING = {
    "native": False,
    "subprocesses": False,
    "idle": False,
    "leaks": False,
    "tracePythonAllocators": False,
    "cpuDuration": 5,
    "memoryDuration": 10,
    "maxDuration": 60,
    "cpuFormat": "flamegraph",
    "memoryFormat": "flamegraph",
    "pyspyNativeSupported": True,
}


class Known(msgspec.Struct, frozen=True):
    """What `/api/v1/session` answers: all that is known of the recording itself."""

    session: str
    marker: SessionMarker
    end: End
    completeness: Completeness
    report: Report


@answers("/api/v1/session")
async def session(request: SessionRequest) -> Response[bytes]:
    """What is known of the recording itself: how it ended, how complete it is, what could not be read."""
    return json_answer(await asyncio.to_thread(lambda: wire.encode(_known(request.view))))


@answers("/timezone")
async def timezone(request: SessionRequest) -> Response[bytes]:
    """The head's time zone."""
    body = await asyncio.to_thread(request.view.good, "/timezone")
    return json_answer(body or wire.encode({"offset": "+00:00", "value": "UTC"}))


@answers("/usage_stats_enabled")
async def usage_stats(request: SessionRequest) -> Response[bytes]:
    """Whether Ray reported usage."""
    none = wire.wrapped("Fetched usage stats enabled", usageStatsEnabled=False, usageStatsPromptEnabled=False)
    body = await asyncio.to_thread(request.view.good, "/usage_stats_enabled")
    return json_answer(body or none)


@answers("/cluster_id")
async def cluster_id(request: SessionRequest) -> Response[bytes]:
    """The cluster's id."""
    none = wire.wrapped("Fetched cluster id", clusterId=None)
    body = await asyncio.to_thread(request.view.good, "/cluster_id")
    return json_answer(body or none)


@answers(["/api/version", "/api/ray/version"])
async def version(request: SessionRequest) -> Response[bytes]:
    """The Ray version; Ray's clients ask for it first."""
    return json_answer(await asyncio.to_thread(_version, request.view))


@answers("/api/v0/cluster_metadata")
async def cluster_metadata(request: SessionRequest) -> Response[bytes]:
    """The versions of Ray and Python."""
    return json_answer(await asyncio.to_thread(_metadata, request.view))


@answers("/api/cluster_status")
async def cluster_status(request: SessionRequest) -> Response[bytes]:
    """The autoscaler's last word, as text with `format=1`."""
    formatted = query_params.first(request.params, "format", "0") == "1"
    return json_answer(await asyncio.to_thread(_status, request.view, formatted))


@answers("/api/component_activities")
async def component_activities(request: SessionRequest) -> Response[bytes]:
    """Whether drivers are active: none is any more when the cluster has ended."""
    return json_answer(await asyncio.to_thread(_activities, request.view))


@answers("/api/gcs_healthz")
async def gcs_healthz() -> Response[bytes]:
    """A recording is always well."""
    return Response(b"success", headers={"content-type": "application/text; charset=utf-8"})


@answers("/api/profiling_enabled")
async def profiling_enabled() -> Response[bytes]:
    """Nothing can be profiled any more."""
    return json_answer(wire.wrapped("", profilingEnabled=False, profilingDefaults=_PROFILING))


@answers("/api/v0/runtime_env_redaction")
async def runtime_env_redaction() -> Response[bytes]:
    """Browsers are shown no values of environment variables."""
    return json_answer(wire.wrapped("", redactionEnabled=True))


@answers("/api/grafana_health")
async def grafana_health() -> Response[bytes]:
    """`DISABLED` makes the frontend leave out its metrics."""
    return json_answer(wire.wrapped("Grafana disabled", grafanaHost="DISABLED"))


@answers("/api/prometheus_health")
async def prometheus_health() -> Response[bytes]:
    """No metrics either; status 200, since to the frontend any other is a failed request."""
    reason = wire.encode("This is a recorded session: it has no Prometheus.")
    return json_answer(wire.envelope("prometheus healthcheck failed.", {"reason": reason}, result=False))


@answers("/api/prometheus/sd")
async def prometheus_targets() -> Response[bytes]:
    """There is nothing left to scrape."""
    return json_answer(b"[]", headers={"cache-control": "no-store"})


HANDLERS = [
    session,
    timezone,
    usage_stats,
    cluster_id,
    version,
    cluster_metadata,
    cluster_status,
    component_activities,
    gcs_healthz,
    profiling_enabled,
    runtime_env_redaction,
    grafana_health,
    prometheus_health,
    prometheus_targets,
]


def _known(view: View) -> Known:
    report = msgspec.convert(view.index.meta("report"), Report)
    return Known(view.session.path, view.marker, view.end, completeness.report(view.index), report)


def _version(view: View) -> bytes:
    recorded = view.good("/api/version")
    if recorded is not None:
        return recorded
    known: dict[str, Any] = {
        "version": "4",
        "ray_version": view.ray_version,
        "ray_commit": "",
        "session_name": view.session.name,
    }
    return wire.encode(known)


def _metadata(view: View) -> bytes:
    return view.good("/api/v0/cluster_metadata") or wire.wrapped(
        "",
        rayVersion=view.marker.ray_version,
        pythonVersion=view.marker.python_version,
        rayInitCluster=False,
    )


def _activities(view: View) -> bytes:
    ended = view.concluded and view.end.ended
    recorded = None if ended else view.good("/api/component_activities")
    if recorded is not None:
        return recorded
    end_s = view.end.at_ms / 1000
    reason = "The cluster has ended." if ended else None
    driver = {"is_active": "INACTIVE", "reason": reason, "timestamp": end_s, "last_activity_at": end_s}
    return wire.encode({"driver": driver})


def _status(view: View, formatted: bool) -> bytes:
    if formatted:
        none = wire.wrapped("Got formatted cluster status.", clusterStatus=_NOT_RECORDED)
        return view.good("/api/cluster_status?format=1") or none
    none = wire.wrapped(
        "Got cluster status.", autoscalingStatus=None, autoscalingError=None, clusterStatus=None
    )
    return view.good("/api/cluster_status") or view.good("/api/cluster_status?format=0") or none
