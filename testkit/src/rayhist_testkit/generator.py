"""Large sessions out of nothing: events of the shapes and proportions that Ray 2.60 posts.

Per attempt: one definition, two or three lifecycle events (2.5 on average), one profile with four entries;
spread over nodes, workers and jobs.  Every tenth task is an actor's, every fiftieth fails and is tried again.
The same `Shape` always gives the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from rayhist import codec, layout
from rayhist.ids import Cluster, ClusterKind, IdKind, Session, nil_id
from rayhist.manifest import Ending, SessionMarker
from rayhist.storage import Store

CLUSTER = Cluster(ClusterKind.RAYCLUSTER, "generated", "cluster")
SESSION_NAME = "session_2026-01-02_03-04-05_000006_7"
START_NS = 1_767_323_045_000_000_000

_EVENTS_PER_FILE = 10_000
_NIL_PLACEMENT_GROUP = base64.b64encode(bytes.fromhex(nil_id(IdKind.PLACEMENT_GROUP))).decode()

_NOWHERE = {"nodeId": "", "workerId": "", "workerPid": 0}


class Shape(msgspec.Struct, frozen=True):
    """How large a session is."""

    tasks: int = 1000
    jobs: int = 4
    nodes: int = 3
    workers: int = 24
    functions: int = 20


class Line(msgspec.Struct, frozen=True):
    """An event as Ray posts it, and the node and job (hex) whose file it goes to."""

    node: str
    job: str
    data: bytes


def events(shape: Shape) -> Iterator[Line]:
    """The session's events: nodes, then drivers, then each attempt's, then the drivers' ends."""
    maker = _Maker(shape)
    for number in range(shape.nodes):
        yield from maker.node(number)
    for number in range(shape.jobs):
        yield from maker.driver(number)
    for number in range(shape.tasks):
        yield from maker.task(number)
    for number in range(shape.jobs):
        yield maker.driver_end(number)


async def lay_out(store: Store, shape: Shape, *, cluster: Cluster = CLUSTER, level: int = 6) -> Session:
    """Write the session's events and its marker to the store."""
    session = Session(cluster, SESSION_NAME)
    waiting: dict[tuple[str, str], list[bytes]] = {}
    for sequence, line in enumerate(events(shape)):
        lines = waiting.setdefault((line.node, line.job), [])
        lines.append(line.data)
        if len(lines) == _EVENTS_PER_FILE:
            key = _key(session, line.node, line.job, sequence)
            await store.put(key, codec.encode(lines, level=level))
            lines.clear()
    for sequence, ((node, job), lines) in enumerate(waiting.items()):
        if lines:
            await store.put(_key(session, node, job, -1 - sequence), codec.encode(lines, level=level))
    end_ms = _Maker(shape).end_ns // 1_000_000
    marker = SessionMarker(
        start_ms=START_NS // 1_000_000, last_seen_ms=end_ms, end_ms=end_ms, ending=Ending.CLEAN
    )
    await store.put(layout.key(layout.Marker(session)), msgspec.json.encode(marker))
    return session


def _key(session: Session, node: str, job: str, sequence: int) -> str:
    hour = datetime.fromtimestamp(START_NS // 1_000_000_000, UTC).strftime("%Y-%m-%d-%H")
    return layout.key(layout.EventFile(session, node, job, hour, START_NS + sequence))


class _Maker:
    """Makes the events of one session."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._nodes = [_bytes("node", number, 28) for number in range(shape.nodes)]
        self._workers = [_bytes("worker", number, 28) for number in range(shape.workers)]
        self._sequence = 0

    @property
    def end_ns(self) -> int:
        return START_NS + (self._shape.tasks + 1000) * 1_000_000

    def node(self, number: int) -> Iterator[Line]:
        node, ip = self._nodes[number], f"10.0.0.{number + 1}"
        definition = {"nodeId": in_base64(node), "nodeIpAddress": ip, "startTimestamp": _time(START_NS)}
        yield self._line(node, b"", "NODE_DEFINITION_EVENT", "nodeDefinitionEvent", definition)
        resources = {"CPU": 8.0, "memory": 1e10, f"node:{ip}": 1.0}
        if not number:
            resources["node:__internal_head__"] = 1.0
        alive = {"state": "ALIVE", "timestamp": _time(START_NS), "resources": resources}
        lifecycle = {"nodeId": in_base64(node), "stateTransitions": [alive]}
        yield self._line(node, b"", "NODE_LIFECYCLE_EVENT", "nodeLifecycleEvent", lifecycle)

    def driver(self, number: int) -> Iterator[Line]:
        job, node = _job(number), self._nodes[0]
        definition = {
            "jobId": in_base64(job),
            "driverPid": str(1000 + number),
            "driverNodeId": in_base64(node),
            "entrypoint": f"python job_{number}.py",
            "config": {"serializedRuntimeEnv": "{}", "metadata": {}},
        }
        yield self._line(node, job, "DRIVER_JOB_DEFINITION_EVENT", "driverJobDefinitionEvent", definition)
        yield self._driver_state(number, "CREATED", START_NS)

    def driver_end(self, number: int) -> Line:
        return self._driver_state(number, "FINISHED", self.end_ns)

    def task(self, number: int) -> Iterator[Line]:
        """The events of a task's attempts."""
        attempts = 2 if number % 50 == 49 else 1
        for attempt in range(attempts):
            yield from self._attempt(number, attempt, failed=attempt + 1 < attempts)

    def _attempt(self, number: int, attempt: int, *, failed: bool) -> Iterator[Line]:
        job = _job(number % self._shape.jobs)
        node = self._nodes[number % self._shape.nodes]
        worker = self._workers[number % self._shape.workers]
        pid = 20_000 + number % self._shape.workers
        actor = _bytes("actor", number % 7, 12) + job if number % 10 == 9 else b""
        task = _bytes("task", number, 8) + (actor or b"\xff" * 12 + job)
        begin = START_NS + number * 1_000_000 + attempt * 5_000_000

        base = {"taskId": in_base64(task), "taskAttempt": attempt, "jobId": in_base64(job)}
        yield self._definition(base, actor, job, number % self._shape.functions)
        pending = _states(PENDING_ARGS_AVAIL=begin, PENDING_NODE_ASSIGNMENT=begin + 3_000)
        last = {"FAILED" if failed else "FINISHED": begin + 4_000_000}
        ended = _states(SUBMITTED_TO_WORKER=begin + 1_000_000, **last)
        if number % 2:  # the owner reports a quick task at once, and a slow one when it is pending already
            yield self._lifecycle(node, job, {**base, **_NOWHERE, "stateTransitions": pending})
        else:
            ended = pending + ended
        running = {"workerPid": pid, "stateTransitions": _states(RUNNING=begin + 2_000_000)}
        yield self._lifecycle(
            node, job, {**base, **_NOWHERE, **running, "taskLogInfo": _log(worker, pid, number)}
        )
        profile = _profile(task, worker, begin + 2_000_000)
        payload = {"taskId": base["taskId"], "attemptNumber": attempt, "jobId": base["jobId"], **profile}
        yield self._line(node, job, "TASK_PROFILE_EVENT", "taskProfileEvents", payload)
        error = {"errorType": "TASK_EXECUTION_EXCEPTION", "errorMessage": f"ValueError: {number}"}
        place = {"nodeId": in_base64(node), "workerId": in_base64(worker), "workerPid": 0}
        payload = {**base, **place, "stateTransitions": ended}
        yield self._lifecycle(node, job, {**payload, "rayErrorInfo": error} if failed else payload)

    def _definition(self, base: dict[str, Any], actor: bytes, job: bytes, function: int) -> Line:
        name = f"Actor.method_{function}" if actor else f"function_{function}"
        class_name, _, method = name.rpartition(".")
        descriptor = {
            "moduleName": "workload",
            "className": class_name,
            "functionName": method,
            "functionHash": hashlib.md5(name.encode(), usedforsecurity=False).hexdigest(),
        }
        func = {"pythonFunctionDescriptor": descriptor}
        payload: dict[str, Any] = {
            **base,
            "language": "PYTHON",
            "requiredResources": {} if actor else {"CPU": 1.0},
            "parentTaskId": in_base64(b"\xff" * 20 + job),
            "placementGroupId": _NIL_PLACEMENT_GROUP,
            "serializedRuntimeEnv": "{}",
            "refIds": {},
            "labelSelector": {},
            "isDetachedActor": False,
        }
        node = self._nodes[0]
        if actor:
            payload |= {"actorFunc": func, "actorTaskName": name, "actorId": in_base64(actor)}
            return self._line(node, job, "ACTOR_TASK_DEFINITION_EVENT", "actorTaskDefinitionEvent", payload)
        payload |= {"taskFunc": func, "taskName": name, "taskType": "NORMAL_TASK"}
        return self._line(node, job, "TASK_DEFINITION_EVENT", "taskDefinitionEvent", payload)

    def _driver_state(self, number: int, state: str, at_ns: int) -> Line:
        job = _job(number)
        payload = {"jobId": in_base64(job), "stateTransitions": _states(**{state: at_ns})}
        return self._line(
            self._nodes[0], job, "DRIVER_JOB_LIFECYCLE_EVENT", "driverJobLifecycleEvent", payload
        )

    def _lifecycle(self, node: bytes, job: bytes, payload: dict[str, Any]) -> Line:
        return self._line(node, job, "TASK_LIFECYCLE_EVENT", "taskLifecycleEvent", payload)

    def _line(self, node: bytes, job: bytes, kind: str, field: str, payload: dict[str, Any]) -> Line:
        self._sequence += 1
        event = {
            "eventId": in_base64(_bytes("event", self._sequence, 28)),
            "sourceType": "CORE_WORKER" if field.startswith(("task", "actorTask")) else "GCS",
            "eventType": kind,
            "timestamp": _time(START_NS + self._sequence * 1000),
            "severity": "INFO",
            "sessionName": SESSION_NAME,
            field: payload,
            "nodeId": in_base64(node),
            "message": "",
        }
        return Line(node.hex(), job.hex(), msgspec.json.encode(event))


def _profile(task: bytes, worker: bytes, at_ns: int) -> dict[str, Any]:
    own = f'{{"name": "workload.f", "task_id": "{task.hex()}"}}'
    spans = (
        ("task:deserialize_arguments", 10_000, 20_000, "{}"),
        ("task:execute", 30_000, 900_000, "{}"),
        ("task:store_outputs", 910_000, 950_000, "{}"),
        ("task::f", 0, 1_000_000, own),
    )
    entries = [
        {"eventName": name, "startTime": str(at_ns + start), "endTime": str(at_ns + end), "extraData": extra}
        for name, start, end, extra in spans
    ]
    component = {"componentType": "worker", "componentId": in_base64(worker), "nodeIpAddress": "10.0.0.1"}
    return {"profileEvents": {**component, "events": entries}}


def _job(number: int) -> bytes:
    return (number + 1).to_bytes(4, "little")


def _log(worker: bytes, pid: int, number: int) -> dict[str, str]:
    stem = f"/tmp/ray/{SESSION_NAME}/logs/worker-{worker.hex()}-ffffffff-{pid}"  # noqa: S108 - Ray's own place
    start, end = str(number * 10), str(number * 10 + 10)
    return {
        "stdoutFile": f"{stem}.out",
        "stderrFile": f"{stem}.err",
        "stdoutStart": start,
        "stdoutEnd": end,
        "stderrStart": "0",
        "stderrEnd": "0",
    }


def _states(**at_ns: int) -> list[dict[str, str]]:
    return [{"state": state, "timestamp": _time(at)} for state, at in at_ns.items()]


def _time(at_ns: int) -> str:
    seconds, fraction = divmod(at_ns, 1_000_000_000)
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S") + f".{fraction:09d}Z"


def _bytes(kind: str, number: int, size: int) -> bytes:
    return hashlib.blake2b(f"{kind} {number}".encode(), digest_size=size).digest()


def in_base64(data: bytes) -> str:
    """An id as events carry it."""
    return base64.b64encode(data).decode()
