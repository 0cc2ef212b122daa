"""What the collector has to know of an event to file it: id, type, session, reporting node, job.

The rest of the event is not decoded.  The job's id stands in the typed payload, under the name of the type
(Ray 2.60, `src/ray/protobuf/public/events_*.proto` in protoJSON); a collector that looks for it at the top
finds none.  Ids are base64 there.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from rayhist import ids
from rayhist.errors import BadIdentifier, DataError
from rayhist.ids import IdKind

_MAX_TYPE_LENGTH = 100
_NIL_NODE = ids.nil_id(IdKind.NODE)
_NIL_JOB = ids.nil_id(IdKind.JOB)
_JOBLESS_TYPES = frozenset(
    {
        "ACTOR_LIFECYCLE_EVENT",
        "NODE_DEFINITION_EVENT",
        "NODE_LIFECYCLE_EVENT",
        "WORKER_DEFINITION_EVENT",
    }
)


class Group(NamedTuple):
    """What the events of one file have in common; `node` and `job` are hex, `""` if the event names none."""

    session: str
    node: str
    job: str


class Filed(NamedTuple):
    """An event's id and type, and where it belongs."""

    event_id: str
    event_type: str
    group: Group


class _Payload(msgspec.Struct, rename="camel"):
    job_id: str = ""


class _Envelope(msgspec.Struct, rename="camel"):
    """The common case, decoded without looking at the rest: the payloads that carry a job's id."""

    event_id: str = ""
    event_type: str = ""
    session_name: str = ""
    node_id: str = ""
    task_lifecycle_event: _Payload | None = None
    task_definition_event: _Payload | None = None
    actor_task_definition_event: _Payload | None = None
    task_profile_events: _Payload | None = None
    actor_definition_event: _Payload | None = None
    driver_job_definition_event: _Payload | None = None
    driver_job_lifecycle_event: _Payload | None = None
    worker_lifecycle_event: _Payload | None = None

    def payload(self) -> _Payload | None:
        return (
            self.task_lifecycle_event
            or self.task_definition_event
            or self.task_profile_events
            or self.actor_task_definition_event
            or self.actor_definition_event
            or self.driver_job_definition_event
            or self.driver_job_lifecycle_event
            or self.worker_lifecycle_event
        )


_DECODER = msgspec.json.Decoder(_Envelope)


def read(line: bytes) -> Filed:
    """Read one event as posted.  Raises `DataError` if it cannot be filed, saying why in few words."""
    try:
        envelope = _DECODER.decode(line)
        payload = envelope.payload()
        if payload is None and envelope.event_type not in _JOBLESS_TYPES:
            return _read_other(msgspec.json.decode(line))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DataError("not an event") from error
    return _filed(
        envelope.event_id,
        envelope.event_type,
        envelope.session_name,
        envelope.node_id,
        payload.job_id if payload else "",
    )


def _read_other(event: Any) -> Filed:
    """A type unknown to this version, or the snake_case dialect (`…_PRESERVE_PROTO_FIELD_NAME`)."""
    if not isinstance(event, dict):
        raise DataError("not an event")
    payloads = [value for value in event.values() if isinstance(value, dict)]
    return _filed(
        _text(event, "eventId", "event_id"),
        _text(event, "eventType", "event_type"),
        _text(event, "sessionName", "session_name"),
        _text(event, "nodeId", "node_id"),
        next(filter(None, (_text(payload, "jobId", "job_id") for payload in payloads)), ""),
    )


def _text(table: dict[str, Any], *names: str) -> str:
    value = next((table[name] for name in names if name in table), "")
    if not isinstance(value, str):
        raise DataError("not an event")
    return value


def _filed(event_id: str, event_type: str, session: str, node: str, job: str) -> Filed:
    if not event_type or len(event_type) > _MAX_TYPE_LENGTH:
        raise DataError("not an event")
    return Filed(event_id, event_type, _group(session, node, job))


@lru_cache(maxsize=1024)
def _group(session: str, node: str, job: str) -> Group:
    """Of what the events say; thousands in a row say the same."""
    if not session:
        raise DataError("no session")
    try:
        ids.session_name(session)
    except BadIdentifier as error:
        raise DataError("hostile session name") from error
    try:
        node_id = ids.hex_from_base64(IdKind.NODE, node)
        job_id = ids.hex_from_base64(IdKind.JOB, job)
    except BadIdentifier as error:
        raise DataError("bad id") from error
    return Group(session, "" if node_id == _NIL_NODE else node_id, "" if job_id == _NIL_JOB else job_id)
