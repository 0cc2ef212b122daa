"""What a task is: the part that all calls of one function in one place have in common, kept once for all."""

from __future__ import annotations

import binascii

import msgspec

from rayhist.events import ActorTaskDefinition, Function, FunctionDescriptor, TaskDefinition
from rayhist.ids import IdKind, hex_from_base64, nil_id

NORMAL_TASK = "NORMAL_TASK"
ACTOR_TASK = "ACTOR_TASK"
ACTOR_CREATION_TASK = "ACTOR_CREATION_TASK"
DRIVER_TASK = "DRIVER_TASK"

_NIL_ACTOR = nil_id(IdKind.ACTOR)
_NIL_PLACEMENT_GROUP = nil_id(IdKind.PLACEMENT_GROUP)
_ACTOR_BYTES = IdKind.ACTOR.size


class Definition(msgspec.Struct, frozen=True, cache_hash=True):
    """Ids in hex, maps as JSON; whatever is absent, nil or empty is an empty text."""

    type: str
    name: str
    function: str
    job_id: str
    actor_id: str
    parent_task_id: str
    placement_group_id: str
    language: str
    resources: str
    runtime_env: str
    call_site: str
    label_selector: str


def of_task(payload: TaskDefinition) -> Definition:
    """Raises `BadIdentifier`."""
    return Definition(
        type=payload.task_type,
        name=payload.task_name,
        function=_called(payload.task_func),
        job_id=hex_from_base64(IdKind.JOB, payload.job_id),
        actor_id=_created_actor(payload),
        parent_task_id=hex_from_base64(IdKind.TASK, payload.parent_task_id),
        placement_group_id=_placement_group(payload.placement_group_id),
        language=payload.language,
        resources=_json(payload.required_resources),
        runtime_env=payload.serialized_runtime_env,
        call_site=payload.call_site,
        label_selector=_json(payload.label_selector),
    )


def of_actor_task(payload: ActorTaskDefinition) -> Definition:
    """Raises `BadIdentifier`."""
    actor_id = hex_from_base64(IdKind.ACTOR, payload.actor_id)
    return Definition(
        type=ACTOR_TASK,
        name=payload.actor_task_name,
        function=_called(payload.actor_func),
        job_id=hex_from_base64(IdKind.JOB, payload.job_id),
        actor_id="" if actor_id == _NIL_ACTOR else actor_id,
        parent_task_id=hex_from_base64(IdKind.TASK, payload.parent_task_id),
        placement_group_id=_placement_group(payload.placement_group_id),
        language=payload.language,
        resources=_json(payload.required_resources),
        runtime_env=payload.serialized_runtime_env,
        call_site=payload.call_site,
        label_selector=_json(payload.label_selector),
    )


def merged(one: Definition, other: Definition) -> Definition:
    """Both together: an empty field says nothing, and of two that differ the greater is taken.

    Ray defines an attempt once, so they only differ in damaged data; the rule makes the order immaterial.
    """
    if one == other:
        return one
    fields = Definition.__struct_fields__
    return Definition(*(max(getattr(one, name), getattr(other, name)) for name in fields))


def _created_actor(payload: TaskDefinition) -> str:
    """An actor's creation task does not say its actor: the last bytes of the task's id are the actor's."""
    if payload.task_type != ACTOR_CREATION_TASK or not payload.task_id:
        return ""
    return binascii.a2b_base64(payload.task_id)[-_ACTOR_BYTES:].hex()


def _placement_group(text: str) -> str:
    found = hex_from_base64(IdKind.PLACEMENT_GROUP, text)
    return "" if found == _NIL_PLACEMENT_GROUP else found


def _json(value: dict[str, float] | dict[str, str]) -> str:
    return msgspec.json.encode(value, order="sorted").decode() if value else ""


def _called(function: Function | None) -> str:
    """`function`, or `Class.function`, without modules: `CallString` of Ray's `function_descriptor.h`."""
    if function is None:
        return ""
    if (cpp := function.cpp_function_descriptor) is not None:
        return f"{cpp.class_name}::{cpp.function_name}" if cpp.class_name else cpp.function_name
    descriptor = function.python_function_descriptor or function.java_function_descriptor
    return "" if descriptor is None else _dotted(descriptor)


def _dotted(descriptor: FunctionDescriptor) -> str:
    if not descriptor.class_name:
        return descriptor.function_name.rpartition(".")[2]
    return f"{descriptor.class_name.rpartition('.')[2]}.{descriptor.function_name}"
