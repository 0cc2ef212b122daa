"""Ray's events as typed structs.

Payloads and fields: the `src/ray/protobuf/public/events_*.proto` of Ray 2.53-2.60 in their protoJSON form,
as the aggregator agent posts them.  Ids stay base64 here; `rayhist.ids.hex_from_base64` turns them into hex
by type.  An absent value and a zero value look alike (`""`, `0`), so a merge must never let one overwrite
what is known.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache
from typing import Annotated, Any

import msgspec

from rayhist.errors import DataError

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Unsigned = Annotated[int, msgspec.Meta(ge=0)]
"""A uint64, for which msgspec has no upper bound; Ray's "unknown" is its greatest value."""
Count = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


class Payload(msgspec.Struct, rename="camel", gc=False):
    """Base: camelCase in JSON, unknown fields ignored."""


class NodeDefinition(Payload):
    node_id: str = ""
    node_ip_address: str = ""
    labels: dict[str, str] = {}
    start_timestamp: str = ""
    hostname: str = ""
    node_name: str = ""
    instance_id: str = ""
    instance_type_name: str = ""


class DeathInfo(Payload):
    """Of a node (`reason…`) or of a worker (`exit…`)."""

    reason: str = ""
    reason_message: str = ""
    exit_type: str = ""
    exit_detail: str = ""


class NodeTransition(Payload):
    state: str = ""
    timestamp: str = ""
    alive_sub_state: str = ""
    resources: dict[str, float] = {}
    death_info: DeathInfo | None = None


class NodeLifecycle(Payload):
    node_id: str = ""
    state_transitions: list[NodeTransition] = []


class WorkerDefinition(Payload):
    worker_id: str = ""
    node_id: str = ""
    worker_type: str = ""
    pid: Int32 = 0
    ip: str = ""


class WorkerTransition(Payload):
    state: str = ""
    timestamp: str = ""
    start_time_ms: Int64 = 0
    end_time_ms: Int64 = 0
    worker_launch_time_ms: Unsigned = 0
    worker_launched_time_ms: Unsigned = 0
    death_info: DeathInfo | None = None


class WorkerLifecycle(Payload):
    worker_id: str = ""
    job_id: str = ""
    state_transitions: list[WorkerTransition] = []


class JobConfig(Payload):
    serialized_runtime_env: str = ""
    metadata: dict[str, str] = {}


class DriverJobDefinition(Payload):
    job_id: str = ""
    driver_pid: Int32 = 0
    driver_node_id: str = ""
    entrypoint: str = ""
    config: JobConfig | None = None


class StateTransition(Payload):
    state: str = ""
    timestamp: str = ""


class DriverJobLifecycle(Payload):
    job_id: str = ""
    state_transitions: list[StateTransition] = []


class ActorDefinition(Payload):
    actor_id: str = ""
    job_id: str = ""
    name: str = ""
    class_name: str = ""
    ray_namespace: str = ""
    is_detached: bool = False
    serialized_runtime_env: str = ""
    required_resources: dict[str, float] = {}
    placement_group_id: str = ""
    label_selector: dict[str, str] = {}
    call_site: str = ""
    parent_id: str = ""


class ActorTransition(Payload):
    state: str = ""
    timestamp: str = ""
    node_id: str = ""
    worker_id: str = ""
    pid: Int32 = 0
    port: Int32 = 0
    repr_name: str = ""
    restart_reason: str = ""
    death_cause: dict[str, Any] | None = None


class ActorLifecycle(Payload):
    actor_id: str = ""
    state_transitions: list[ActorTransition] = []


class FunctionDescriptor(Payload):
    """A Python, Java or C++ function; of the latter two only the names that the dashboard shows."""

    module_name: str = ""
    class_name: str = ""
    function_name: str = ""
    function_hash: str = ""


class Function(Payload):
    python_function_descriptor: FunctionDescriptor | None = None
    java_function_descriptor: FunctionDescriptor | None = None
    cpp_function_descriptor: FunctionDescriptor | None = None


class TaskDefinition(Payload):
    task_id: str = ""
    task_attempt: Count = 0
    task_type: str = ""
    language: str = ""
    task_func: Function | None = None
    task_name: str = ""
    required_resources: dict[str, float] = {}
    job_id: str = ""
    parent_task_id: str = ""
    placement_group_id: str = ""
    serialized_runtime_env: str = ""
    call_site: str = ""
    label_selector: dict[str, str] = {}
    ref_ids: dict[str, str] = {}


class ActorTaskDefinition(Payload):
    task_id: str = ""
    task_attempt: Count = 0
    language: str = ""
    actor_func: Function | None = None
    actor_id: str = ""
    actor_task_name: str = ""
    required_resources: dict[str, float] = {}
    job_id: str = ""
    parent_task_id: str = ""
    placement_group_id: str = ""
    serialized_runtime_env: str = ""
    call_site: str = ""
    label_selector: dict[str, str] = {}
    ref_ids: dict[str, str] = {}


class ErrorInfo(Payload):
    error_type: str = ""
    error_message: str = ""


class TaskLogInfo(Payload):
    """Bytes `[start, end)` of the worker's log files; absent until the task has begun, and has ended."""

    stdout_file: str = ""
    stderr_file: str = ""
    stdout_start: Int64 | None = None
    stdout_end: Int64 | None = None
    stderr_start: Int64 | None = None
    stderr_end: Int64 | None = None


class TaskLifecycle(Payload):
    task_id: str = ""
    task_attempt: Count = 0
    job_id: str = ""
    node_id: str = ""
    worker_id: str = ""
    worker_pid: Int32 = 0
    actor_repr_name: str = ""
    is_debugger_paused: bool | None = None
    state_transitions: list[StateTransition] = []
    ray_error_info: ErrorInfo | None = None
    task_log_info: TaskLogInfo | None = None


class ProfileEntry(Payload):
    event_name: str = ""
    start_time: Int64 = 0
    end_time: Int64 = 0
    extra_data: str = ""


class ProfileEvents(Payload):
    component_type: str = ""
    component_id: str = ""
    node_ip_address: str = ""
    events: list[ProfileEntry] = []


class TaskProfile(Payload):
    """Times are nanoseconds; the attempt is called `attemptNumber` here, not `taskAttempt`."""

    task_id: str = ""
    attempt_number: Count = 0
    job_id: str = ""
    profile_events: ProfileEvents | None = None


class Event(Payload):
    """One event: what replay needs of its envelope, and the payload of its type.

    A type unknown to this version has no payload.
    """

    event_type: str = ""
    session_name: str = ""
    timestamp: str = ""
    node_id: str = ""
    """The reporting node, since Ray 2.54."""
    node_definition_event: NodeDefinition | None = None
    node_lifecycle_event: NodeLifecycle | None = None
    worker_definition_event: WorkerDefinition | None = None
    worker_lifecycle_event: WorkerLifecycle | None = None
    driver_job_definition_event: DriverJobDefinition | None = None
    driver_job_lifecycle_event: DriverJobLifecycle | None = None
    actor_definition_event: ActorDefinition | None = None
    actor_lifecycle_event: ActorLifecycle | None = None
    task_definition_event: TaskDefinition | None = None
    actor_task_definition_event: ActorTaskDefinition | None = None
    task_lifecycle_event: TaskLifecycle | None = None
    task_profile_events: TaskProfile | None = None


# protoJSON prints int64 as a text and int32 as a number; a lax decoder takes either.
_DECODER = msgspec.json.Decoder(Event, strict=False)

# Maps whose keys are the user's, not Ray's: they keep their spelling in the snake_case dialect.
_USER_MAPS = frozenset(
    {"labels", "resources", "required_resources", "label_selector", "metadata", "ref_ids", "extra_data"}
)


def decode(line: bytes) -> Event:
    """Decode one event, in either dialect (`…_PRESERVE_PROTO_FIELD_NAME` makes it snake_case).

    Raises `DataError`.
    """
    try:
        event = _DECODER.decode(line)
        if not event.event_type:
            event = msgspec.convert(_camel(msgspec.json.decode(line)), Event, strict=False)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"not an event: {error}") from error
    if not event.event_type:
        raise DataError("not an event: it has no type")
    return event


def _camel(value: Any) -> Any:
    if isinstance(value, list):
        return [_camel(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        _camel_name(name): inner if name in _USER_MAPS else _camel(inner) for name, inner in value.items()
    }


@lru_cache(maxsize=1024)
def _camel_name(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(part.title() for part in others)


_FORM = re.compile(r"(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(Z|[+-]\d{2}:\d{2})\Z", re.ASCII)


def timestamp_ns(text: str) -> int:
    """Nanoseconds since the epoch of an RFC 3339 time with 0 to 9 fraction digits.  Raises `DataError`."""
    second, _, rest = text.partition(".")
    digits = rest[:9]
    if rest[9:] == "Z" and digits.isdigit() and digits.isascii():
        # Nearly all times of a session have this form, and those of one second begin alike.
        return _second_ns(second) + int(digits)
    return _any_ns(text)


@lru_cache(maxsize=4096)
def _second_ns(text: str) -> int:
    return _any_ns(text + "Z")


def _any_ns(text: str) -> int:
    match = _FORM.match(text)
    if match is None:
        raise DataError(f"not an RFC 3339 time: {text[:64]!r}")
    second, fraction, zone = match.groups()
    try:
        moment = datetime.fromisoformat(second + ("+00:00" if zone == "Z" else zone))
    except ValueError as error:
        raise DataError(f"not an RFC 3339 time: {text!r} ({error})") from error
    return int(moment.timestamp()) * 1_000_000_000 + int((fraction or "").ljust(9, "0"))
