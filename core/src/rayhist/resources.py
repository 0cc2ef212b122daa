"""The columns of Ray's state API, by resource.

Names, order, which appear only with `detail`, and which can be filtered: `ray.util.state.common` of Ray 2.60.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from typing import Any

import msgspec


class Type(StrEnum):
    """What a column holds, and so what a filter's text is converted to before it is compared."""

    STRING = "string"
    INTEGER = "integer"
    FLOAT = "float"
    BOOLEAN = "boolean"


class Resource(msgspec.Struct, frozen=True, dict=True):
    """One kind of thing that the state API lists."""

    name: str
    base: tuple[str, ...]
    """Columns of every answer."""
    more: tuple[str, ...]
    """Columns that `detail` adds."""
    filterable: dict[str, Type]
    order: tuple[str, ...]
    """Columns that answers are sorted by; with none, they come as they were written."""
    kept: dict[str, Type] = {}
    """Columns of `more` that are stored beside the filterable ones, for what is computed of them."""
    sparse: tuple[str, ...] = ()
    """Columns that Ray's source leaves out where they have no value, so that not even `!=` meets them."""
    flat: bool = False
    """Whether every column of `base` is filterable, so that the index need not keep `base` as well."""

    @cached_property
    def stored(self) -> dict[str, Type]:
        """The columns that are columns of the index as well."""
        return self.filterable | self.kept

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return self.base + self.more

    def split(self, row: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The row's base and detail parts, each with all of its columns (`None` where the row has none)."""
        return {name: row.get(name) for name in self.base}, {name: row.get(name) for name in self.more}


def _strings(*names: str) -> dict[str, Type]:
    return dict.fromkeys(names, Type.STRING)


TASKS = Resource(
    "tasks",
    base=(
        "task_id",
        "attempt_number",
        "name",
        "state",
        "job_id",
        "actor_id",
        "type",
        "func_or_class_name",
        "parent_task_id",
        "node_id",
        "worker_id",
        "worker_pid",
        "error_type",
    ),
    more=(
        "language",
        "required_resources",
        "runtime_env_info",
        "placement_group_id",
        "events",
        "profiling_data",
        "creation_time_ms",
        "start_time_ms",
        "end_time_ms",
        "task_log_info",
        "error_message",
        "is_debugger_paused",
        "call_site",
        "label_selector",
        "fallback_strategy",
    ),
    filterable=_strings(
        "task_id",
        "name",
        "state",
        "job_id",
        "actor_id",
        "type",
        "func_or_class_name",
        "parent_task_id",
        "node_id",
        "worker_id",
        "error_type",
        "language",
        "placement_group_id",
    )
    | {"attempt_number": Type.INTEGER, "worker_pid": Type.INTEGER, "is_debugger_paused": Type.BOOLEAN},
    order=(),
    kept={"creation_time_ms": Type.FLOAT},
    sparse=("error_type",),
    flat=True,
)

ACTORS = Resource(
    "actors",
    base=("actor_id", "class_name", "state", "job_id", "name", "node_id", "pid", "ray_namespace"),
    more=(
        "serialized_runtime_env",
        "required_resources",
        "death_cause",
        "is_detached",
        "placement_group_id",
        "repr_name",
        "num_restarts",
        "num_restarts_due_to_lineage_reconstruction",
        "num_restarts_due_to_node_preemption",
        "call_site",
        "label_selector",
        "fallback_strategy",
    ),
    filterable=_strings(
        "actor_id",
        "class_name",
        "state",
        "job_id",
        "name",
        "node_id",
        "ray_namespace",
        "placement_group_id",
        "repr_name",
    )
    | {"pid": Type.INTEGER},
    order=("actor_id",),
    sparse=("node_id", "placement_group_id"),
)

JOBS = Resource(
    "jobs",
    base=(
        "job_id",
        "submission_id",
        "entrypoint",
        "type",
        "status",
        "message",
        "error_type",
        "driver_info",
    ),
    more=(
        "start_time",
        "end_time",
        "metadata",
        "runtime_env",
        "driver_agent_http_address",
        "driver_node_id",
        "driver_exit_code",
    ),
    filterable=_strings("job_id", "submission_id", "type", "status"),
    order=("job_id",),
)

NODES = Resource(
    "nodes",
    base=(
        "node_id",
        "node_ip",
        "is_head_node",
        "state",
        "state_message",
        "node_name",
        "resources_total",
        "labels",
    ),
    more=("start_time_ms", "end_time_ms"),
    filterable=_strings("node_id", "node_ip", "state", "node_name") | {"is_head_node": Type.BOOLEAN},
    order=("node_id",),
)

PLACEMENT_GROUPS = Resource(
    "placement_groups",
    base=("placement_group_id", "name", "creator_job_id", "state"),
    more=("bundles", "is_detached", "stats", "topology_strategy", "topology_assignments"),
    filterable=_strings("placement_group_id", "name", "creator_job_id", "state")
    | {"is_detached": Type.BOOLEAN},
    order=("placement_group_id",),
)

WORKERS = Resource(
    "workers",
    base=("worker_id", "is_alive", "worker_type", "exit_type", "node_id", "ip", "pid"),
    more=(
        "exit_detail",
        "worker_launch_time_ms",
        "worker_launched_time_ms",
        "start_time_ms",
        "end_time_ms",
        "debugger_port",
        "num_paused_threads",
    ),
    filterable=_strings("worker_id", "worker_type", "exit_type", "node_id", "ip")
    | {
        "is_alive": Type.BOOLEAN,
        "pid": Type.INTEGER,
        "debugger_port": Type.INTEGER,
        "num_paused_threads": Type.INTEGER,
    },
    order=("worker_id",),
    sparse=("exit_type", "debugger_port", "num_paused_threads"),
)

OBJECTS = Resource(
    "objects",
    base=(
        "object_id",
        "object_size",
        "task_status",
        "attempt_number",
        "reference_type",
        "call_site",
        "type",
        "pid",
        "ip",
    ),
    more=(),
    filterable=_strings("object_id", "task_status", "reference_type", "call_site", "type", "ip")
    | {"object_size": Type.INTEGER, "attempt_number": Type.INTEGER, "pid": Type.INTEGER},
    order=("object_id",),
)

RUNTIME_ENVS = Resource(
    "runtime_envs",
    base=("runtime_env", "success", "creation_time_ms", "node_id"),
    more=("ref_cnt", "error"),
    filterable=_strings("runtime_env", "error", "node_id") | {"success": Type.BOOLEAN},
    order=(),
    sparse=("error",),
)

RESOURCES = {
    resource.name: resource
    for resource in (TASKS, ACTORS, JOBS, NODES, PLACEMENT_GROUPS, WORKERS, OBJECTS, RUNTIME_ENVS)
}
