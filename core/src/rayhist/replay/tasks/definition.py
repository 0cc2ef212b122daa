"""What a task is: the part that all calls of one function in one place have in common, kept once for all."""

from __future__ import annotations

from typing import Any

import msgspec

from rayhist.events import ActorTaskDefinition, Function, FunctionDescriptor, TaskDefinition
from rayhist.ids import IdKind, hex_from_base64, nil_id

NORMAL_TASK = "NORMAL_TASK"
ACTOR_TASK = "ACTOR_TASK"
ACTOR_CREATION_TASK = "ACTOR_CREATION_TASK"
DRIVER_TASK = "DRIVER_TASK"

_NIL_ACTOR = nil_id(IdKind.ACTOR)
_NIL_PLACEMENT_GROUP = nil_id(IdKind.PLACEMENT_GROUP)


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


class Definitions:
    """Makes definitions; equal events get the same object, and only the first of them is converted."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], Definition] = {}

    def of_task(self, payload: TaskDefinition) -> Definition:
        """Raises `BadIdentifier`."""
        # An actor's creation task does not say its actor: the last bytes of the task's id are the actor's.
        creates = payload.task_type == ACTOR_CREATION_TASK
        return self._shared(
            payload,
            payload.task_type,
            payload.task_name,
            called(payload.task_func),
            payload.task_id if creates else "",
        )

    def of_actor_task(self, payload: ActorTaskDefinition) -> Definition:
        """Raises `BadIdentifier`."""
        return self._shared(
            payload, ACTOR_TASK, payload.actor_task_name, called(payload.actor_func), payload.actor_id
        )

    def _shared(
        self, payload: TaskDefinition | ActorTaskDefinition, kind: str, name: str, function: str, actor: str
    ) -> Definition:
        key = (
            kind,
            name,
            function,
            actor,
            payload.job_id,
            payload.parent_task_id,
            payload.placement_group_id,
            payload.language,
            payload.serialized_runtime_env,
            payload.call_site,
            tuple(payload.required_resources.items()),
            tuple(payload.label_selector.items()),
        )
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Definition(
                type=kind,
                name=name,
                function=function,
                job_id=hex_from_base64(IdKind.JOB, payload.job_id),
                actor_id=_actor(kind, actor),
                parent_task_id=hex_from_base64(IdKind.TASK, payload.parent_task_id),
                placement_group_id=_placement_group(payload.placement_group_id),
                language=payload.language,
                resources=_json(payload.required_resources),
                runtime_env=payload.serialized_runtime_env,
                call_site=payload.call_site,
                label_selector=_json(payload.label_selector),
            )
        return found


def merged(one: Definition, other: Definition) -> Definition:
    """Both together: an empty field says nothing, and of two that differ the greater is taken.

    Ray defines an attempt once, so they only differ in damaged data; the rule makes the order immaterial.
    """
    if one == other:
        return one
    fields = Definition.__struct_fields__
    return Definition(*(max(getattr(one, name), getattr(other, name)) for name in fields))


def _actor(kind: str, text: str) -> str:
    """The actor's id in hex, from its own id or from that of the task that creates it."""
    if kind == ACTOR_CREATION_TASK:
        return hex_from_base64(IdKind.TASK, text)[-2 * IdKind.ACTOR.size :]
    found = hex_from_base64(IdKind.ACTOR, text)
    return "" if found == _NIL_ACTOR else found


def _placement_group(text: str) -> str:
    found = hex_from_base64(IdKind.PLACEMENT_GROUP, text)
    return "" if found == _NIL_PLACEMENT_GROUP else found


def _json(value: dict[str, float] | dict[str, str]) -> str:
    return msgspec.json.encode(value, order="sorted").decode() if value else ""


def called(function: Function | None) -> str:
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
