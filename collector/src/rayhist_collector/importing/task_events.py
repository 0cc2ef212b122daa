"""Tasks that a dashboard listed, as the events that Ray would have sent of them.

A replay reads tasks from events alone, since a recorded cluster has them all.  Of an imported one there is
but the list (`/api/v0/tasks?detail=1`, Ray 2.53 to 2.60), whose rows say the same in another form.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

_ACTOR_TASK = "ACTOR_TASK"
_NS_PER_MS = 1_000_000


def events(session: str, node: str, rows: list[dict[str, Any]]) -> Iterator[bytes]:
    """One definition, one lifecycle and, if there is one, one profile for each attempt.

    A row of another shape than expected raises `KeyError`, `TypeError` or `ValueError`.
    """
    for row in rows:
        for kind, field, payload in _of(row):
            event = {
                "eventId": f"imported-{row['task_id']}-{row['attempt_number']}-{kind}",
                "eventType": f"{kind}_EVENT",
                "sessionName": session,
                "nodeId": _base64(node),
                "timestamp": _timestamp(
                    max((one["created_ms"] for one in row.get("events") or []), default=0)
                ),
                field: payload,
            }
            yield msgspec.json.encode(event)


def _of(row: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    task, attempt = _base64(row["task_id"]), int(row["attempt_number"])
    job = _base64(row["job_id"])
    common = {
        "taskId": task,
        "taskAttempt": attempt,
        "jobId": job,
        "language": row.get("language") or "",
        "requiredResources": row.get("required_resources") or {},
        "parentTaskId": _base64(row.get("parent_task_id") or ""),
        "placementGroupId": _base64(row.get("placement_group_id") or ""),
        "serializedRuntimeEnv": (row.get("runtime_env_info") or {}).get("serialized_runtime_env") or "",
        "callSite": row.get("call_site") or "",
        "labelSelector": row.get("label_selector") or {},
    }
    function = {"pythonFunctionDescriptor": _descriptor(row.get("func_or_class_name") or "")}
    if row["type"] == _ACTOR_TASK:
        actor = {
            "actorFunc": function,
            "actorId": _base64(row.get("actor_id") or ""),
            "actorTaskName": row["name"],
        }
        yield "ACTOR_TASK_DEFINITION", "actorTaskDefinitionEvent", common | actor
    else:
        own = {"taskType": row["type"], "taskFunc": function, "taskName": row["name"]}
        yield "TASK_DEFINITION", "taskDefinitionEvent", common | own
    yield "TASK_LIFECYCLE", "taskLifecycleEvent", _lifecycle(row, task, attempt, job)
    profile = row.get("profiling_data") or {}
    if profile.get("events"):
        payload = {"taskId": task, "attemptNumber": attempt, "jobId": job, "profileEvents": _profile(profile)}
        yield "TASK_PROFILE", "taskProfileEvents", payload


def _lifecycle(row: dict[str, Any], task: str, attempt: int, job: str) -> dict[str, Any]:
    made: dict[str, Any] = {
        "taskId": task,
        "taskAttempt": attempt,
        "jobId": job,
        "nodeId": _base64(row.get("node_id") or ""),
        "workerId": _base64(row.get("worker_id") or ""),
        "workerPid": row.get("worker_pid") or 0,
        "stateTransitions": [
            {"state": one["state"], "timestamp": _timestamp(one["created_ms"])}
            for one in row.get("events") or []
        ],
    }
    if row.get("error_type"):
        made["rayErrorInfo"] = {
            "errorType": row["error_type"],
            "errorMessage": row.get("error_message") or "",
        }
    if log := row.get("task_log_info"):
        made["taskLogInfo"] = {_camel(name): value for name, value in log.items() if value is not None}
    if row.get("is_debugger_paused") is not None:
        made["isDebuggerPaused"] = row["is_debugger_paused"]
    return made


def _profile(said: dict[str, Any]) -> dict[str, Any]:
    return {
        "componentType": said.get("component_type") or "",
        "componentId": _base64(said.get("component_id") or ""),
        "nodeIpAddress": said.get("node_ip_address") or "",
        "events": [
            {
                "eventName": one["event_name"],
                "startTime": str(round(one["start_time"] * _NS_PER_MS)),
                "endTime": str(round(one["end_time"] * _NS_PER_MS)),
                "extraData": msgspec.json.encode(one.get("extra_data") or {}).decode(),
            }
            for one in said["events"]
        ],
    }


def _descriptor(called: str) -> dict[str, str]:
    class_name, _, function = called.rpartition(".")
    return {"className": class_name, "functionName": function}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


def _base64(hexadecimal: str) -> str:
    return base64.b64encode(bytes.fromhex(hexadecimal)).decode()


def _timestamp(ms: float) -> str:
    """In the middle of the millisecond, as Ray showed the nanoseconds rounded down, by floating numbers."""
    at = datetime.fromtimestamp(int(ms) // 1000, UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{int(ms) % 1000:03d}500Z"
