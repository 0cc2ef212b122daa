"""The tasks' timeline as a Chrome trace: `chrome_tracing_dump` of `ray._private.profiling` of Ray 2.60.

Times are microseconds.  A node is a trace's process and a worker its thread; both are numbered, and metadata
events name them.
"""

from __future__ import annotations

from typing import Any

import msgspec

from rayhist.index import Index
from rayhist.query import MAX_LIMIT, Filter, Query, run
from rayhist.resources import TASKS

_RECORDERS = frozenset({"worker", "driver"})
_OTHER_COLOUR = "generic_work"
_COLOURS = {
    "worker_idle": "cq_build_abandoned",
    "task": "rail_response",
    "task:deserialize_arguments": "rail_load",
    "task:execute": "rail_animation",
    "task:store_outputs": "rail_idle",
    "wait_for_function": "detailed_memory_dump",
    "ray.get": "good",
    "ray.put": "terrible",
    "ray.wait": "vsync_highlight_color",
    "submit_task": "background_memory_dump",
    "fetch_and_run_function": "detailed_memory_dump",
    "register_remote_function": "detailed_memory_dump",
}


class _Span(msgspec.Struct):
    event_name: str
    start_time: float
    end_time: float
    extra_data: dict[str, Any]


class _Profile(msgspec.Struct):
    component_type: str = ""
    component_id: str = ""
    node_ip_address: str = ""
    events: list[_Span] = []


class _Task(msgspec.Struct):
    task_id: str
    job_id: str
    attempt_number: int
    func_or_class_name: str
    profiling_data: _Profile
    actor_id: str | None = None


class Event(msgspec.Struct):
    """A complete event of a trace."""

    cat: str
    name: str
    pid: int
    tid: int
    ts: float
    dur: float
    cname: str
    args: dict[str, Any]
    ph: str = "X"


class Name(msgspec.Struct):
    """A metadata event of a trace: what a process or thread is called."""

    name: str
    args: dict[str, str]
    pid: int
    tid: int | None = None
    ph: str = "M"


def events(index: Index, job_id: str | None = None, *, limit: int = MAX_LIMIT) -> list[Event | Name]:
    """The trace of a job, or of all jobs; of no more than `limit` task attempts, as Ray does.

    Raises `BadQuery`.
    """
    filters = (Filter("job_id", "=", job_id),) if job_id else ()
    page = run(index, TASKS, Query(filters=filters, limit=limit, detail=True))
    decoder = msgspec.json.Decoder(_Task)
    trace = _Trace()
    for row in page.rows:
        trace.add(decoder.decode(row))
    return [*trace.events, *trace.names()]


class _Trace:
    def __init__(self) -> None:
        self.events: list[Event | Name] = []
        self._nodes: dict[str, int] = {}
        self._workers: dict[tuple[int, str], int] = {}

    def add(self, task: _Task) -> None:
        profile = task.profiling_data
        if profile.component_type not in _RECORDERS or not profile.events:
            return
        node = self._nodes.setdefault(profile.node_ip_address, len(self._nodes))
        component = f"{profile.component_type}:{profile.component_id}"
        worker = self._workers.setdefault((node, component), len(self._workers))
        for span in profile.events:
            self.events.append(_event(task, span, node, worker))

    def names(self) -> list[Event | Name]:
        nodes = [Name("process_name", {"name": f"Node {ip}"}, node) for ip, node in self._nodes.items()]
        workers = [
            Name("thread_name", {"name": component}, node, worker)
            for (node, component), worker in self._workers.items()
        ]
        return [*nodes, *workers]


def _event(task: _Task, span: _Span, node: int, worker: int) -> Event:
    extra = span.extra_data
    start_us, end_us = span.start_time * 1e3, span.end_time * 1e3
    colour = extra.get("cname", span.event_name)
    return Event(
        cat=span.event_name,
        name=extra.get("name", span.event_name),
        pid=node,
        tid=worker,
        ts=start_us,
        dur=end_us - start_us,
        cname=_COLOURS.get(colour, _OTHER_COLOUR) if isinstance(colour, str) else _OTHER_COLOUR,
        args={
            **extra,
            "task_id": task.task_id,
            "job_id": task.job_id,
            "attempt_number": task.attempt_number,
            "func_or_class_name": task.func_or_class_name,
            "actor_id": task.actor_id,
        },
    )
