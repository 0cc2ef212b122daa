"""Which bytes of which file a request means.

The order in which the parameters count, and the texts: `LogsManager.resolve_filename` of
`ray.dashboard.modules.log.log_manager`, Ray 2.60.
"""

from __future__ import annotations

import msgspec

from rayhist.index import Index
from rayhist.logs.nodes import find_node, named_node
from rayhist.logs.request import LogRequest
from rayhist.logs.slices import LogSlice, path_of, whole
from rayhist.logs.tasks import task_slice
from rayhist.logs.workers import actor_file, no_file, worker_file

__all__ = ["LogSlice", "resolve"]

_JOB_DRIVER = "job-driver-"


def resolve(index: Index, request: LogRequest) -> LogSlice:
    """The slice that is meant.  Raises `LogError`."""
    if request.actor_id:
        return actor_file(index, request)
    if request.task_id:
        return task_slice(index, request)
    if request.submission_id:
        return _job_log(index, request)
    if request.pid:
        node = find_node(index, request.node_id, request.node_ip)
        path = worker_file(index, node, request.suffix, pid=request.pid)
        if path is None:
            raise no_file(request, node)
        return whole(index, node, path)
    return _named_file(index, request)


def _named_file(index: Index, request: LogRequest) -> LogSlice:
    path = path_of(request.filename)
    node = named_node(index, request.node_id, request.node_ip)
    if path.startswith(_JOB_DRIVER) and index.log_file(node, path) is None:
        node = _holder(index, path, "") or node
    return whole(index, node, path)


def _job_log(index: Index, request: LogRequest) -> LogSlice:
    """A submission's log: its driver's node is known, or asked for, or else any node that has the file."""
    path = path_of(f"{_JOB_DRIVER}{request.submission_id}.log")
    asked = named_node(index, request.node_id, request.node_ip) if request.node_id or request.node_ip else ""
    node = _holder(index, path, asked or _driver_node(index, request.submission_id))
    if not node:
        raise no_file(request, asked or None)
    return whole(index, node, path)


def _holder(index: Index, path: str, preferred: str) -> str:
    """A node that has the file; after a restart that may be another than the job's."""
    holders = [node for node in index.log_nodes() if index.log_file(node, path) is not None]
    return preferred if preferred in holders else next(iter(holders), "")


class _Job(msgspec.Struct):
    driver_node_id: str | None = None


def _driver_node(index: Index, submission_id: str) -> str:
    document = index.document("job", submission_id)
    return (msgspec.json.decode(document, type=_Job).driver_node_id or "") if document else ""
