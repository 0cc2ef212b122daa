"""The files of a worker process: by actor, by worker id, by process id."""

from __future__ import annotations

import re

import msgspec

from rayhist.ids import IdKind, nil_id
from rayhist.index import Index
from rayhist.logs.error import LogError, clipped
from rayhist.logs.nodes import has_logs, require_logs
from rayhist.logs.request import LogRequest, checked_id
from rayhist.logs.slices import LogSlice, whole

_WORKER_FILE = re.compile(r"(?:.*/)?worker-([0-9a-f]+)-[0-9a-f]+-([0-9]+)\.(out|err)\Z")
_NOWHERE = frozenset({"", nil_id(IdKind.WORKER), nil_id(IdKind.NODE)})


class Incarnation(msgspec.Struct):
    """One life of an actor, as the documents `actor.workers` list them: worker id, and that worker's node."""

    worker_id: str = ""
    node_id: str = ""

    @property
    def placed(self) -> bool:
        """Whether it ever had a worker."""
        return _NOWHERE.isdisjoint({self.worker_id, self.node_id})


def worker_file(index: Index, node: str, suffix: str, *, worker_id: str = "", pid: int = 0) -> str | None:
    """The path of a worker's `out` or `err` file, or `None`."""
    for file in index.log_files(node):
        match = _WORKER_FILE.match(file.path)
        if match and match[3] == suffix and (match[1] == worker_id if worker_id else int(match[2]) == pid):
            return file.path
    return None


def actor_file(index: Index, request: LogRequest) -> LogSlice:
    """The file of the actor's last incarnation that has one.  Raises `LogError`."""
    actor = checked_id(IdKind.ACTOR, request.actor_id)
    lives = [life for life in _incarnations(index, actor) if life.placed]
    if not lives:
        raise LogError(f"Worker ID for Actor ID ActorID({actor}) not found. Actor is not scheduled yet.")
    for life in lives:
        path = worker_file(index, life.node_id, request.suffix, worker_id=life.worker_id)
        if path is not None:
            return whole(index, life.node_id, path)
    latest = lives[0].node_id
    if not any(has_logs(index, life.node_id) for life in lives):
        require_logs(index, latest)
    raise no_file(request, latest)


def _incarnations(index: Index, actor: str) -> list[Incarnation]:
    """The latest first.  Raises `LogError` if nothing is known of the actor."""
    document = index.document("actor.workers", actor)
    if document is not None:
        return msgspec.json.decode(document, type=list[Incarnation])
    if index.document("actor", actor) is None:
        raise LogError(f"Actor ID ActorID({actor}) not found.")
    return []


def no_file(request: LogRequest, node: str | None) -> LogError:
    """Ray's text for a request that means no file."""
    return LogError(
        "Could not find a log file. Please make sure the given option exists in the cluster.\n"
        f"\tnode_id: {node}\n"
        "\tfilename: None\n"
        f"\tactor_id: {request.actor_id or None}\n"
        f"\ttask_id: {clipped(request.task_id) or None}\n"
        f"\tpid: {request.pid or None}\n"
        f"\tsuffix: {request.suffix}\n"
        f"\tsubmission_id: {clipped(request.submission_id) or None}\n"
        f"\tattempt_number: {request.attempt_number}\n"
    )
