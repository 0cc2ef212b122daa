"""What recording asks of Ray: the environment of its processes and drivers."""

from __future__ import annotations

_EXPORTED = (
    "NODE_DEFINITION_EVENT,NODE_LIFECYCLE_EVENT,WORKER_DEFINITION_EVENT,WORKER_LIFECYCLE_EVENT,"
    "DRIVER_JOB_DEFINITION_EVENT,DRIVER_JOB_LIFECYCLE_EVENT,ACTOR_DEFINITION_EVENT,ACTOR_LIFECYCLE_EVENT,"
    "TASK_DEFINITION_EVENT,ACTOR_TASK_DEFINITION_EVENT,TASK_LIFECYCLE_EVENT,TASK_PROFILE_EVENT"
)


def ray_environment(events_port: int) -> dict[str, str]:
    return {
        "RAY_enable_ray_event": "1",
        "RAY_enable_core_worker_ray_event_to_aggregator": "1",
        "RAY_enable_export_api_write": "1",
        "RAY_DASHBOARD_AGGREGATOR_AGENT_EXPOSABLE_EVENT_TYPES": _EXPORTED,
        "RAY_DASHBOARD_AGGREGATOR_AGENT_EVENTS_EXPORT_ADDR": f"http://127.0.0.1:{events_port}/v1/events",
        "RAY_TRAIN_V2_ENABLED": "1",
        "RAY_TRAIN_ENABLE_STATE_TRACKING": "1",
    }
