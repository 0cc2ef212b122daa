"""What an actor is, as far as it never changes, out of each source."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from rayhist.events import ActorDefinition
from rayhist.ids import IdKind, hex_from_base64
from rayhist.replay.actors_polled import ShownActor


class Identity(msgspec.Struct):
    job_id: str = ""
    class_name: str = ""
    name: str = ""
    namespace: str = ""
    runtime_env: str = ""
    """Serialized."""
    resources: dict[str, float] = {}
    placement_group_id: str = ""
    label_selector: dict[str, str] = {}
    call_site: str = ""
    repr_name: str = ""
    is_detached: bool = False


def first_said(sources: Iterable[Identity]) -> Identity:
    """The first source that says something counts, field by field."""
    merged = Identity()
    for source in sources:
        for name in Identity.__struct_fields__:
            if not getattr(merged, name):
                setattr(merged, name, getattr(source, name))
    return merged


def defined(said: ActorDefinition | None) -> Identity:
    """Raises `BadIdentifier` if an id is malformed."""
    if said is None:
        return Identity()
    return Identity(
        job_id=hex_from_base64(IdKind.JOB, said.job_id),
        class_name=said.class_name,
        name=said.name,
        namespace=said.ray_namespace,
        runtime_env=said.serialized_runtime_env,
        resources=said.required_resources,
        placement_group_id=hex_from_base64(IdKind.PLACEMENT_GROUP, said.placement_group_id),
        label_selector=said.label_selector,
        call_site=said.call_site,
        is_detached=said.is_detached,
    )


def shown(actor: ShownActor | None) -> Identity:
    """From `/logical/actors`."""
    if actor is None:
        return Identity()
    return Identity(
        job_id=actor.job_id,
        class_name=actor.class_name,
        name=actor.name,
        resources=actor.required_resources,
        placement_group_id=actor.placement_group_id or "",
        label_selector=actor.label_selector,
        call_site=actor.call_site,
        repr_name=actor.repr_name,
    )


def listed(row: dict[str, Any]) -> Identity:
    """From a row of `/api/v0/actors`; what has the wrong type says nothing."""
    names = {
        "job_id": "job_id",
        "class_name": "class_name",
        "name": "name",
        "ray_namespace": "namespace",
        "serialized_runtime_env": "runtime_env",
        "required_resources": "resources",
        "placement_group_id": "placement_group_id",
        "label_selector": "label_selector",
        "call_site": "call_site",
        "repr_name": "repr_name",
        "is_detached": "is_detached",
    }
    given = {names[name]: value for name, value in row.items() if name in names and value is not None}
    try:
        return msgspec.convert(given, Identity)
    except msgspec.ValidationError:
        return Identity()
