"""Which of the dashboard's endpoints are asked, how often, and what earlier answers say about that.

Only what no event and no file carries is asked for (measured on Ray 2.60).  An endpoint whose answers are big
or slow is asked less often, so that the head has the same little work with ten nodes and with a thousand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

VERSION = "/api/version"
SUMMARY = "/nodes?view=summary"
ACTORS = "/logical/actors"
JOBS = "/api/jobs/"

ONCE = (
    "/timezone",
    "/cluster_id",
    "/usage_stats_enabled",
    "/api/v0/cluster_metadata",
    "/api/authentication_mode",
    "/api/profiling_enabled",
    "/api/v0/runtime_env_redaction",
)
"""Asked until they have answered; what they say does not change."""

REGULARLY = {
    SUMMARY: 1,
    ACTORS: 1,
    JOBS: 1,
    "/api/serve/applications/": 1,
    "/api/v0/placement_groups?detail=1&limit=10000": 1,
    "/api/cluster_status?format=1": 2,
    "/api/cluster_status": 2,
    "/api/v0/workers?detail=1&limit=10000": 6,
    "/api/v0/runtime_envs?detail=1&limit=10000": 6,
    "/api/v0/objects?detail=1&limit=10000": 12,
    "/nodes?view=hostNameList": 12,
    "/api/component_activities": 12,
    "/api/grafana_health": 60,
}
"""Endpoint → every how many intervals."""

TRAIN = "/api/train/v2/runs/v1"
TASKS = "/api/v0/tasks?detail=1&limit=10000"
_NODE_INTERVALS = 4
_NODES_PER_INTERVAL = 20
_DATASETS_PER_INTERVAL = 20
_TASKS_INTERVALS = 12
_MAX_BYTES_PER_S = 64 << 10
_MAX_LOAD = 0.1
"""Which part of the time an endpoint may be busy with us."""

# Asking for datasets makes Ray start the actor that knows them, 200 MB of it; so only when it is there.
_DATA_ACTORS = (b'"_StatsActor"', b'"DatasetManager"')
_TRAIN_ACTORS = (b'"TrainStateActor"',)
_LAST_VERSION_WITHOUT_LOG_RANGES = (2, 53)
_NODE_ID = re.compile(r"[0-9a-f]{56}\Z")
_JOB_ID = re.compile(r"[0-9a-f]{8}\Z")


class Known(msgspec.Struct):
    """What the last answers said that decides what to ask next."""

    ray_version: str = ""
    alive: list[str] = []
    """Ids of the nodes that are alive."""
    jobs: list[str] = []
    """Ids in hex of the jobs with a driver, the newest first."""
    uses_data: bool = False
    uses_train: bool = False

    def learn(self, endpoint: str, body: bytes) -> None:
        """Take note of a good answer; one of an unexpected shape says nothing."""
        try:
            if endpoint == SUMMARY:
                self.alive = list(_alive(msgspec.json.decode(body)))
            elif endpoint == JOBS:
                self.jobs = list(_jobs(msgspec.json.decode(body)))
            elif endpoint == ACTORS:
                self.uses_data = self.uses_data or any(name in body for name in _DATA_ACTORS)
                self.uses_train = self.uses_train or any(name in body for name in _TRAIN_ACTORS)
        except (msgspec.DecodeError, AttributeError, KeyError, TypeError):
            return

    def endpoints(self) -> dict[str, float]:
        """What is to be asked regularly, each with its number of intervals."""
        wanted: dict[str, float] = dict(REGULARLY)
        spread = max(_NODE_INTERVALS, len(self.alive) / _NODES_PER_INTERVAL)
        wanted |= dict.fromkeys((f"/nodes/{node}" for node in self.alive), spread)
        if self.uses_data:
            spread = max(1.0, len(self.jobs) / _DATASETS_PER_INTERVAL)
            wanted |= dict.fromkeys((f"/api/data/datasets/{job}" for job in self.jobs), spread)
        if self.uses_train:
            wanted[TRAIN] = 2
        if _version(self.ray_version) <= _LAST_VERSION_WITHOUT_LOG_RANGES:
            wanted[TASKS] = _TASKS_INTERVALS
        return wanted


def _alive(body: Any) -> Iterator[str]:
    for node in body["data"]["summary"]:
        raylet = node["raylet"]
        if raylet["state"] == "ALIVE" and _NODE_ID.match(raylet["nodeId"]):
            yield raylet["nodeId"]


def _jobs(body: Any) -> Iterator[str]:
    for job in sorted(body, key=lambda job: job.get("start_time") or 0, reverse=True):
        if _JOB_ID.match(job.get("job_id") or ""):
            yield job["job_id"]


def _version(text: str) -> tuple[int, int]:
    match = re.match(r"(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else (9999, 0)


class _Turn(msgspec.Struct):
    due: float = 0.0
    seconds: float = 0.0
    bytes: int = 0


class Schedule:
    """When each endpoint's turn comes; times are a monotonic clock's seconds."""

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self._turns: dict[str, _Turn] = {}
        self._answered_once: set[str] = set()

    def due(self, wanted: dict[str, float], now: float) -> list[str]:
        """What to ask now, and that it will be asked again after so many of its intervals."""
        once = [endpoint for endpoint in ONCE if endpoint not in self._answered_once]
        return [*self._turns_of(dict.fromkeys(once, 1.0), now), *self._turns_of(wanted, now)]

    def _turns_of(self, wanted: dict[str, float], now: float) -> Iterable[str]:
        for endpoint, intervals in wanted.items():
            turn = self._turns.setdefault(endpoint, _Turn())
            if now >= turn.due:
                turn.due = now + max(
                    # A little early rather than a whole interval late, since rounds are an interval apart.
                    self._interval_s * (intervals - 0.5),
                    turn.seconds / _MAX_LOAD,
                    turn.bytes / _MAX_BYTES_PER_S,
                )
                yield endpoint

    def answered(self, endpoint: str, *, status: int, seconds: float, size: int) -> None:
        """Take note of what an answer cost."""
        if endpoint in ONCE and status < 500:
            self._answered_once.add(endpoint)
        turn = self._turns.setdefault(endpoint, _Turn())
        # The lesser of two: the first call of a module makes Ray start it, which takes seconds.
        turn.seconds = min(seconds, turn.seconds * 2) if turn.seconds else 0.001
        turn.bytes = size
