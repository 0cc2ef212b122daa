"""The settings that Ray needs, so that it sends its events (Ray 2.53 to 2.60)."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

EVENT_TYPES = (
    "TASK_DEFINITION_EVENT",
    "TASK_LIFECYCLE_EVENT",
    "ACTOR_TASK_DEFINITION_EVENT",
    "TASK_PROFILE_EVENT",
    "DRIVER_JOB_DEFINITION_EVENT",
    "DRIVER_JOB_LIFECYCLE_EVENT",
    "NODE_DEFINITION_EVENT",
    "NODE_LIFECYCLE_EVENT",
    "ACTOR_DEFINITION_EVENT",
    "ACTOR_LIFECYCLE_EVENT",
    "WORKER_DEFINITION_EVENT",
    "WORKER_LIFECYCLE_EVENT",
    "PLACEMENT_GROUP_DEFINITION_EVENT",
    "PLACEMENT_GROUP_LIFECYCLE_EVENT",
    "SUBMISSION_JOB_DEFINITION_EVENT",
    "SUBMISSION_JOB_LIFECYCLE_EVENT",
    "PLATFORM_EVENT",
)
"""Spelt out, since Ray 2.53 drops every event without a word if told `ALL`; unknown names are harmless."""

DRIVER_SETTINGS = {
    "RAY_enable_ray_event": "1",
    "RAY_enable_core_worker_ray_event_to_aggregator": "1",
}
"""Read by each process; drivers that are started outside the cluster need them, too."""

_AGGREGATOR = "RAY_DASHBOARD_AGGREGATOR_AGENT"
_HEAD = """\
# Settings for `ray start`, on every node: eval "$(rayhist collect --print-ray-env)"
# A driver that is started outside the cluster needs the first two as well; without them, its half of
# each task is missing.  Drivers of submitted jobs get them from the cluster.
"""


def settings(address: str, types: Sequence[str] = EVENT_TYPES) -> dict[str, str]:
    """The variables; `address` is the collector's own, such as `http://127.0.0.1:8084`."""
    return DRIVER_SETTINGS | {
        f"{_AGGREGATOR}_EVENTS_EXPORT_ADDR": f"{address}/v1/events",
        f"{_AGGREGATOR}_EXPOSABLE_EVENT_TYPES": ",".join(types),
        f"{_AGGREGATOR}_PUBLISHER_HTTP_ENDPOINT_EXPOSABLE_EVENT_TYPES": ",".join(
            types
        ),  # its name in some versions
        # Ray drops the oldest beyond this many; its own default loses events at 2,000 tasks a second.
        f"{_AGGREGATOR}_MAX_EVENT_BUFFER_SIZE": "1000000",
        # Submission jobs, Ray Data and Ray Train: to files, since no event carries them.
        "RAY_enable_export_api_write": "1",
        "RAY_TRAIN_ENABLE_STATE_TRACKING": "1",
    }


def script(address: str) -> str:
    """Lines for a shell."""
    lines = [f"export {name}={shlex.quote(value)}" for name, value in settings(address).items()]
    return _HEAD + "\n".join(lines) + "\n"
