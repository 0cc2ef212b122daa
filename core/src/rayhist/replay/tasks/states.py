"""The states of a task, in the order that decides which one it is in: `TaskStatus` of `common.proto`."""

from __future__ import annotations

STATES = (
    "NIL",
    "PENDING_ARGS_AVAIL",
    "PENDING_NODE_ASSIGNMENT",
    "PENDING_OBJ_STORE_MEM_AVAIL",
    "PENDING_ARGS_FETCH",
    "SUBMITTED_TO_WORKER",
    "PENDING_ACTOR_TASK_ARGS_FETCH",
    "PENDING_ACTOR_TASK_ORDERING_OR_CONCURRENCY",
    "RUNNING",
    "RUNNING_IN_RAY_GET",
    "RUNNING_IN_RAY_WAIT",
    "FINISHED",
    "FAILED",
    "GETTING_AND_PINNING_ARGS",
)
"""A task's state is the last of these that it has a time for, not the one with the latest time."""

NUMBERS = {state: number for number, state in enumerate(STATES)}

NIL = NUMBERS["NIL"]
CREATED = NUMBERS["PENDING_ARGS_AVAIL"]
RUNNING = NUMBERS["RUNNING"]
FINISHED = NUMBERS["FINISHED"]
FAILED = NUMBERS["FAILED"]
