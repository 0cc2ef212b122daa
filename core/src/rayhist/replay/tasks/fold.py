"""The fold of tasks: from events to records, by task and attempt, and from records to rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from rayhist.errors import DataError
from rayhist.events import (
    Event,
    TaskLifecycle,
    TaskLogInfo,
    TaskProfile,
    timestamp_ns,
)
from rayhist.ids import IdKind, hex_from_base64, nil_id
from rayhist.index import IndexWriter
from rayhist.replay.context import Context
from rayhist.replay.fold import Fold
from rayhist.replay.tasks.definition import Definition, Definitions
from rayhist.replay.tasks.ending import concluder
from rayhist.replay.tasks.key import job_of, key_of, task_of
from rayhist.replay.tasks.profile import Profiles
from rayhist.replay.tasks.record import Record, Slice
from rayhist.replay.tasks.row import COLUMNS, RowMaker
from rayhist.replay.tasks.states import NUMBERS
from rayhist.resources import TASKS


class _HexIds(dict[str, str]):
    """From base64 to hex; nil and absent are empty.  There are few, so each is converted once."""

    def __init__(self, kind: IdKind) -> None:
        self._kind = kind

    def __missing__(self, text: str) -> str:
        found = hex_from_base64(self._kind, text)
        found = self[text] = "" if found == nil_id(self._kind) else found
        return found


class TaskFold(Fold):
    """One record per attempt, by its key."""

    types = frozenset(
        {"TASK_DEFINITION_EVENT", "ACTOR_TASK_DEFINITION_EVENT", "TASK_LIFECYCLE_EVENT", "TASK_PROFILE_EVENT"}
    )

    def __init__(self) -> None:
        self._records: dict[bytes, Record] = {}
        self._definitions = Definitions()
        self._profiles = Profiles()
        self._texts: dict[str, str] = {}
        self._nodes, self._workers = _HexIds(IdKind.NODE), _HexIds(IdKind.WORKER)
        self._unknown_states: set[str] = set()

    def add(self, event: Event) -> None:
        if event.task_lifecycle_event is not None:
            self._add_lifecycle(event.task_lifecycle_event, event)
        elif event.task_profile_events is not None:
            self._add_profile(event.task_profile_events)
        elif (task := event.task_definition_event) is not None:
            self._define(key_of(task.task_id, task.task_attempt), self._definitions.of_task(task))
        elif (call := event.actor_task_definition_event) is not None:
            self._define(key_of(call.task_id, call.task_attempt), self._definitions.of_actor_task(call))
        else:
            raise DataError(f"a {event.event_type} says nothing of a task")

    def write(self, context: Context, writer: IndexWriter) -> None:
        context.problems.extend(self._problems())
        writer.prepared(TASKS, COLUMNS, self._rows(context))

    def _define(self, key: bytes, definition: Definition) -> None:
        self._record(key).define(definition)

    def _add_lifecycle(self, payload: TaskLifecycle, event: Event) -> None:
        key = key_of(payload.task_id, payload.task_attempt)
        node, worker = self._nodes[payload.node_id], self._workers[payload.worker_id]
        entered = [(one.state, timestamp_ns(one.timestamp)) for one in payload.state_transitions]
        error, paused = payload.ray_error_info, payload.is_debugger_paused
        said_ns = 0 if error is None and paused is None else timestamp_ns(event.timestamp)
        record = self._record(key)
        record.run_by(node, worker, payload.worker_pid, payload.actor_repr_name)
        for name, at_ns in entered:
            state = NUMBERS.get(name)
            if state is None:
                self._unknown_states.add(name)
            else:
                record.enter(state, at_ns)
        if payload.task_log_info is not None:
            record.logged(self._slice(payload.task_log_info))
        if error is not None:
            record.failed(said_ns, error)
        if paused is not None:
            record.pause(said_ns, paused=paused)

    def _add_profile(self, payload: TaskProfile) -> None:
        if payload.profile_events is None:
            return
        key = key_of(payload.task_id, payload.attempt_number)
        packed = self._profiles.packed(task_of(key), payload.profile_events)
        record = self._record(key)
        record.profile = self._profiles.together(record.profile, packed) if record.profile else packed

    def _record(self, key: bytes) -> Record:
        record = self._records.get(key)
        if record is None:
            record = self._records[key] = Record()
        return record

    def _slice(self, log: TaskLogInfo) -> Slice:
        return Slice(
            self._shared(log.stdout_file),
            self._shared(log.stderr_file),
            log.stdout_start,
            log.stdout_end,
            log.stderr_start,
            log.stderr_end,
        )

    def _shared(self, text: str) -> str | None:
        return self._texts.setdefault(text, text) if text else None

    def _rows(self, context: Context) -> Iterator[tuple[Any, ...]]:
        rows, conclude = RowMaker(self._profiles), concluder(context)
        for key in sorted(self._records):
            record = self._records[key]
            if record.definition is not None:
                yield rows.row(key, record, record.definition, conclude(record))

    def _problems(self) -> Iterator[str]:
        jobs = Counter(
            job_of(key)
            for key, record in self._records.items()
            if record.definition is None and record.states
        )
        if jobs:
            shown = ", ".join(f"{job} ({count})" for job, count in sorted(jobs.items())[:20])
            yield (
                f"{jobs.total()} task attempts are not shown, since no event says what they are: the driver"
                f" ran without Ray's switches for events, or events were lost.  Job (attempts): {shown}"
            )
        if self._unknown_states:
            shown = ", ".join(sorted(self._unknown_states)[:20])
            yield f"Tasks were in states that this version does not know: {shown}"
