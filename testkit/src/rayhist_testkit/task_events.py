"""Events of tasks, short to write; and what a fold of tasks makes of them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rayhist import events
from rayhist.ids import Session
from rayhist.index import IndexWriter
from rayhist.manifest import SessionMarker
from rayhist.replay.answers import Answers
from rayhist.replay.context import Context, End
from rayhist.replay.tasks import TaskFold
from rayhist_testkit import generator

Json = dict[str, Any]

JOB = bytes.fromhex("01000000")
NODE, WORKER = bytes(range(28)), bytes(range(28, 56))
TASK = bytes(range(8)) + b"\xff" * 12 + JOB
ACTOR = bytes(range(12)) + JOB
CREATION = b"\xff" * 8 + ACTOR
NIL_PLACEMENT_GROUP = b"\xff" * 18


def in_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def at(second: int) -> str:
    return f"2026-11-30T15:00:{second:02d}.123456789Z"


def ms(second: int) -> float:
    return 1796050800123.0 + second * 1000


def python(function: str, class_name: str = "") -> Json:
    descriptor = {"moduleName": "m", "className": class_name, "functionName": function, "functionHash": "ab"}
    return {"pythonFunctionDescriptor": descriptor}


def definition(task: bytes = TASK, attempt: int = 0, **fields: Any) -> Json:
    payload = {
        "taskId": in_base64(task),
        "taskAttempt": attempt,
        "taskType": "NORMAL_TASK",
        "language": "PYTHON",
        "taskFunc": python("f"),
        "taskName": "f",
        "jobId": in_base64(JOB),
        "parentTaskId": in_base64(b"\xff" * 20 + JOB),
        "placementGroupId": in_base64(NIL_PLACEMENT_GROUP),
        "requiredResources": {"CPU": 1},
        "serializedRuntimeEnv": "{}",
        **fields,
    }
    return {"eventType": "TASK_DEFINITION_EVENT", "taskDefinitionEvent": payload}


def actor_task(task: bytes, **fields: Any) -> Json:
    payload = {
        "taskId": in_base64(task),
        "actorId": in_base64(ACTOR),
        "actorFunc": python("m", "A"),
        "actorTaskName": "A.m",
        "jobId": in_base64(JOB),
        **fields,
    }
    return {"eventType": "ACTOR_TASK_DEFINITION_EVENT", "actorTaskDefinitionEvent": payload}


def lifecycle(task: bytes = TASK, attempt: int = 0, said: int = 0, **fields: Any) -> Json:
    payload = {
        "taskId": in_base64(task),
        "taskAttempt": attempt,
        "nodeId": "",
        "workerId": "",
        "workerPid": 0,
        "stateTransitions": [],
        **fields,
    }
    return {"eventType": "TASK_LIFECYCLE_EVENT", "timestamp": at(said), "taskLifecycleEvent": payload}


def states(**seconds: int) -> list[Json]:
    return [{"state": state, "timestamp": at(second)} for state, second in seconds.items()]


def profile(*entries: Json, task: bytes = TASK, attempt: int = 0, kind: str = "worker") -> Json:
    component = {"componentType": kind, "componentId": in_base64(WORKER), "nodeIpAddress": "10.0.0.1"}
    payload = {
        "taskId": in_base64(task),
        "attemptNumber": attempt,
        "profileEvents": {**component, "events": list(entries)},
    }
    return {"eventType": "TASK_PROFILE_EVENT", "taskProfileEvents": payload}


def entry(name: str, start: int, end: int, extra: str = "{}") -> Json:
    return {"eventName": name, "startTime": str(start), "endTime": str(end), "extraData": extra}


def new_context(*, ended_at_ms: int = 0) -> Context:
    """Of a session that goes on, or that ended at a time."""
    session = Session(generator.CLUSTER, generator.SESSION_NAME)
    end = End(ended=bool(ended_at_ms), at_ms=ended_at_ms, reason="")
    return Context(session, SessionMarker(), {}, Answers(), end)


def table(fold: TaskFold, context: Context | None = None) -> list[Json]:
    """The table that the fold writes, row by row, column by column."""
    writer = IndexWriter(Path(":memory:"))
    fold.write(context or new_context(), writer)
    cursor = writer.database.execute("SELECT * FROM tasks ORDER BY seq")
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


def table_of(lines: Iterable[bytes]) -> list[Json]:
    """The table that events as they were posted come to."""
    fold = TaskFold()
    for line in lines:
        fold.add(events.decode(line))
    return table(fold)


def rows_of(*posted: Json, context: Context | None = None) -> list[Json]:
    """The rows that events come to, with all of their columns."""
    fold = TaskFold()
    for event in posted:
        fold.add(events.decode(json.dumps(event).encode()))
    return [{**row, **json.loads(row["more"])} for row in table(fold, context)]


def row_of(*posted: Json, context: Context | None = None) -> Json:
    """The one row that events come to."""
    [row] = rows_of(*posted, context=context)
    return row
