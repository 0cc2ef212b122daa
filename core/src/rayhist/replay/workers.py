"""Worker processes: from their events, drivers from the events of their jobs, and from the polled list."""

from __future__ import annotations

from typing import Any

from rayhist.events import Event, WorkerDefinition, WorkerTransition, timestamp_ns
from rayhist.ids import IdKind, hex_from_base64
from rayhist.index import IndexWriter
from rayhist.replay import polled
from rayhist.replay.context import Context
from rayhist.replay.fold import Fold
from rayhist.replay.jobs import JobFold
from rayhist.replay.jobs_drivers import Driver
from rayhist.replay.merging import Definitions, Transitions, overlay, required_id, timed
from rayhist.replay.status import ended
from rayhist.resources import WORKERS

_STATES = ("ALIVE", "DEAD")
_TIMES = ("worker_launch_time_ms", "worker_launched_time_ms", "start_time_ms", "end_time_ms")
_NO_LAUNCH = 2**64 - 1
"""What Ray's list shows for a driver, since no raylet launched it."""
_UNSAID = "The driver has ended; Ray's events do not say how."


class WorkerEvents:
    """What events said about one worker."""

    __slots__ = ("definitions", "transitions")

    def __init__(self) -> None:
        self.definitions: Definitions[WorkerDefinition] = Definitions()
        self.transitions: Transitions[WorkerTransition] = Transitions()

    def row(self) -> dict[str, Any]:
        """The worker's columns, as far as they are known."""
        row: dict[str, Any] = {}
        if (said := self.definitions.merged()) is not None:
            node_id = hex_from_base64(IdKind.NODE, said.node_id)
            row |= {"worker_type": said.worker_type, "node_id": node_id, "ip": said.ip, "pid": said.pid}
        for at_ms, one in self.transitions.ordered(_STATES):
            row |= _known({name: getattr(one, name) for name in _TIMES})
            row["is_alive"] = one.state != "DEAD" and row.get("is_alive", True)
            if one.state == "DEAD":
                row.setdefault("end_time_ms", at_ms)
                if one.death_info is not None:
                    row |= {"exit_type": one.death_info.exit_type, "exit_detail": one.death_info.exit_detail}
        return row


class WorkerFold(Fold):
    """Writes the workers' rows, and fills `context.workers`."""

    types = frozenset({"WORKER_DEFINITION_EVENT", "WORKER_LIFECYCLE_EVENT"})

    def __init__(self, jobs: JobFold) -> None:
        self._jobs = jobs
        self._events: dict[str, WorkerEvents] = {}

    def add(self, event: Event) -> None:
        if (definition := event.worker_definition_event) is not None:
            at_ns = timestamp_ns(event.timestamp)
            hex_from_base64(IdKind.NODE, definition.node_id)  # believable?  `row` relies on it
            self._of(definition.worker_id).definitions.add(at_ns, definition)
        if (lifecycle := event.worker_lifecycle_event) is not None:
            transitions = timed(lifecycle.state_transitions)
            self._of(lifecycle.worker_id).transitions.add(transitions)

    def _of(self, worker_id: str) -> WorkerEvents:
        return self._events.setdefault(required_id(IdKind.WORKER, worker_id), WorkerEvents())

    def write(self, context: Context, writer: IndexWriter) -> None:
        listed = polled.listing(context.answers, WORKERS, context.problems).rows
        shown = {row["worker_id"]: row for row in listed}
        drivers = {one.job_id.ljust(2 * IdKind.WORKER.size, "f"): one for one in self._jobs.drivers()}
        for worker_id in sorted({*self._events, *shown, *drivers}):
            seen = shown.get(worker_id, {})
            if worker_id in drivers:
                row = _of_driver(drivers[worker_id], seen)
            else:
                events = self._events.get(worker_id)
                row = _merged(seen, events.row() if events else {})
            context.workers[worker_id] = _complete(worker_id, row, context)
        writer.rows(WORKERS, context.workers.values())


def _merged(seen: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
    """Events know better than the list, but a worker that either calls dead is dead."""
    alive = seen.get("is_alive", True) and told.get("is_alive", True)
    return overlay(_known(seen), _known(told)) | {"is_alive": alive}


def _of_driver(driver: Driver, seen: dict[str, Any]) -> dict[str, Any]:
    """Only the list knows how a driver exited, and its times more exactly; events know its job's end."""
    row: dict[str, Any] = {
        "worker_type": "DRIVER",
        "node_id": driver.node_id,
        "pid": driver.pid,
        "worker_launch_time_ms": _NO_LAUNCH,
        "worker_launched_time_ms": _NO_LAUNCH,
        "start_time_ms": driver.start_ms,
        "end_time_ms": driver.end_ms,
        "exit_detail": _UNSAID if driver.end_ms else None,
    }
    return overlay(row, _known(seen)) | {"is_alive": seen.get("is_alive", True) and not driver.end_ms}


def _complete(worker_id: str, row: dict[str, Any], context: Context) -> dict[str, Any]:
    """The row with all its columns; a worker that outlived its cluster's record ended with it."""
    empty = dict.fromkeys(WORKERS.columns) | dict.fromkeys(_TIMES, 0) | {"worker_type": "WORKER", "pid": 0}
    row = {**empty, **row, "worker_id": worker_id}
    node = context.node_states.get(row["node_id"] or "", {})
    row["ip"] = row["ip"] or node.get("node_ip")
    for name in ("exit_type", "exit_detail"):
        row[name] = row[name] or None
    for name in _TIMES:
        row[name] = row[name] if isinstance(row[name], int) else 0
    if row["is_alive"] and context.end.ended:
        died_ms = max(node.get("end_time_ms") or context.end.at_ms, row["start_time_ms"])
        row |= {"is_alive": False, "end_time_ms": died_ms, "exit_detail": _conclusion(node, context)}
    return row


def _conclusion(node: dict[str, Any], context: Context) -> str:
    of_cluster, of_node = ended(context.end), node.get("state_message")
    if not node or of_node == of_cluster:
        return of_cluster
    return f"The worker's node died. {of_node or ''}".rstrip()


def _known(values: dict[str, Any]) -> dict[str, Any]:
    """Without the zeros and blanks that stand for what is not known."""
    return {name: value for name, value in values.items() if value}
