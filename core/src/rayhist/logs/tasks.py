"""The output of one attempt of a task: the bytes `[start, end)` of its worker's file that its row tells.

Never a neighbour's lines: where the stretch is not certain, the answer is an error that says so.
Texts: `LogsManager._resolve_task_filename` of `ray.dashboard.modules.log.log_manager`, Ray 2.60.
"""

from __future__ import annotations

import msgspec

from rayhist.ids import IdKind
from rayhist.index import Index
from rayhist.logs.error import LogError
from rayhist.logs.request import LogRequest, checked_id
from rayhist.logs.slices import LogSlice, path_of, whole
from rayhist.query import MAX_LIMIT, Filter, Query, run
from rayhist.resources import TASKS

_NOT_FOUND = 404
_LogInfo = dict[str, str | int | None]


class _Attempt(msgspec.Struct):
    task_id: str
    attempt_number: int
    actor_id: str | None = None
    node_id: str | None = None
    worker_id: str | None = None
    start_time_ms: float | None = None
    task_log_info: _LogInfo | None = None

    def offset(self, suffix: str, which: str) -> int | None:
        """Where the output starts or ends in the worker's file, in bytes, if that was recorded."""
        value = (self.task_log_info or {}).get(f"std{suffix}_{which}")
        return value if isinstance(value, int) and value >= 0 else None


def task_slice(index: Index, request: LogRequest) -> LogSlice:
    """The attempt's slice.  Raises `LogError`."""
    attempt = _attempt(index, request)
    suffix = request.suffix
    info = _log_info(attempt)
    name = info.get("stdout_file" if suffix == "out" else "stderr_file")
    if not isinstance(name, str) or not name:
        raise LogError(
            f"Missing log filename info in {info} for task {attempt.task_id},attempt {attempt.attempt_number}"
        )
    file = whole(index, attempt.node_id or "", path_of(name))
    start, end = attempt.offset(suffix, "start"), attempt.offset(suffix, "end")
    if start is None:
        raise _uncertain(attempt, "begins", file.path)
    if end is None:
        end = _next_start(index, attempt, suffix, file)
    if end < start:
        raise _uncertain(attempt, "ends", file.path)
    return LogSlice(file.node, file.path, start, end)


def _attempt(index: Index, request: LogRequest) -> _Attempt:
    task = checked_id(IdKind.TASK, request.task_id)
    found = _attempts(index, "task_id", task)
    if not found:
        raise LogError(
            f"Could not find log file for task: {task}"
            f" (attempt {request.attempt_number}) with suffix: {request.suffix}"
        )
    for attempt in found:
        if attempt.attempt_number == request.attempt_number:
            return attempt
    raise LogError(f"Could not find log file for task attempt:{task}({request.attempt_number})")


def _attempts(index: Index, column: str, value: str) -> list[_Attempt]:
    query = Query(filters=(Filter(column, "=", value),), limit=MAX_LIMIT, detail=True, exclude_driver=False)
    return [msgspec.json.decode(row, type=_Attempt) for row in run(index, TASKS, query).rows]


def _log_info(attempt: _Attempt) -> _LogInfo:
    """What the row says of the output.  Raises `LogError` if that is nothing."""
    name = f"{attempt.task_id}({attempt.attempt_number})"
    if not attempt.node_id:
        raise LogError(f"Could not find log file for task attempt.{name} due to missing node info.")
    if attempt.task_log_info is not None:
        return attempt.task_log_info
    if attempt.actor_id is not None:
        raise LogError(
            f"For actor task, please query actor log for actor({attempt.actor_id}): "
            f"e.g. ray logs actor --id {attempt.actor_id} . Or set RAY_ENABLE_RECORD_ACTOR_TASK_LOGGING=1 "
            "in actor's runtime env or when starting the cluster. Recording actor task's log could be "
            "expensive, so Ray turns it off by default."
        )
    raise LogError(
        f"Could not find log file for task attempt:{name}.Worker id = {attempt.worker_id}, "
        f"node id = {attempt.node_id},log_info = None",
        remedy="Ray did not say where the output stands, as its worker crashed or Ray is older than 2.54:"
        " look at the worker's file",
    )


def _next_start(index: Index, attempt: _Attempt, suffix: str, file: LogSlice) -> int:
    """Where an output ends that was never closed, since the task or its worker was killed.

    A worker runs one task at a time, so that is where its next task starts, or the file's end.
    """
    if attempt.worker_id is None or attempt.start_time_ms is None:
        raise _uncertain(attempt, "ends", file.path)
    end = file.end
    others = _attempts(index, "worker_id", attempt.worker_id)
    for other in others:
        if other.start_time_ms is None or other.start_time_ms <= attempt.start_time_ms:
            continue
        start = other.offset(suffix, "start")
        if start is None:
            raise _uncertain(attempt, "ends", file.path)
        end = min(end, start)
    if len(others) >= MAX_LIMIT:
        raise _uncertain(attempt, "ends", file.path)
    return end


def _uncertain(attempt: _Attempt, what: str, path: str) -> LogError:
    return LogError(
        f"The output of task attempt {attempt.task_id}({attempt.attempt_number}) cannot be told from that of"
        f" other tasks: where it {what} in {path} was not recorded.",
        status=_NOT_FOUND,
        remedy="look at the worker's whole file",
    )
