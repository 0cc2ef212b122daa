"""The actors as the dashboard last showed them: `/logical/actors` and `/api/v0/actors`."""

from __future__ import annotations

from typing import Any

import msgspec

from rayhist.events import Int64
from rayhist.replay import polled
from rayhist.replay.actors_processes import LOGICAL
from rayhist.replay.context import Context
from rayhist.resources import ACTORS


class Address(msgspec.Struct, rename="camel", frozen=True):
    node_id: str = ""
    ip_address: str = ""
    port: Int64 = 0
    worker_id: str = ""


class ShownActor(msgspec.Struct, rename="camel"):
    """What the dashboard's pages show of an actor, besides its process: Ray 2.60."""

    job_id: str = ""
    state: str = ""
    name: str = ""
    class_name: str = ""
    address: Address = Address()
    num_restarts: Int64 = 0
    timestamp: float = 0
    pid: Int64 = 0
    start_time: Int64 = 0
    end_time: Int64 = 0
    repr_name: str = ""
    exit_detail: str = "-"
    placement_group_id: str | None = None
    call_site: str = ""
    label_selector: dict[str, str] = {}
    required_resources: dict[str, float] = {}


_SHOWN = {field.encode_name for field in msgspec.structs.fields(ShownActor)} | {
    "actorId",
    "actorClass",
    "fallbackStrategy",
}


class Polled(msgspec.Struct):
    """One actor as polled; what was not polled is empty."""

    shown: ShownActor | None = None
    process: dict[str, Any] = {}
    """The fields about its process and its node's hardware."""
    row: dict[str, Any] = {}
    """Of the state API, all columns."""
    row_at_ms: int = 0


class _Actors(msgspec.Struct):
    actors: dict[str, dict[str, Any]]


class _Answer(msgspec.Struct):
    data: _Actors


def polled_actors(context: Context) -> dict[str, Polled]:
    """By actor id; what cannot be read goes into `context.problems`."""
    logical = _logical(context)
    found = {
        identifier: Polled(shown, _process(identifier, fields, shown, context))
        for identifier, fields in logical.items()
        if (shown := _shown(fields)) is not None
    }
    if odd := len(logical) - len(found):
        context.problems.append(f"{odd} actors of the recorded answer of {LOGICAL} cannot be read.")
    listing = polled.listing(context.answers, ACTORS, context.problems)
    for row in listing.rows:
        one = found.setdefault(row["actor_id"], Polled())
        one.row, one.row_at_ms = row, listing.fetched_at
    return found


def _process(identifier: str, fields: dict[str, Any], shown: ShownActor, context: Context) -> dict[str, Any]:
    """What is said of the actor's process; of one that is alive, whatever was said of it last."""
    last = context.answers.processes.last(identifier)
    seen = _shown(last)
    same = seen is not None and seen.address == shown.address
    whole = fields.get("processStats") and fields.get("workerId")
    if shown.state == "ALIVE" and same and not whole:
        fields = last
    return {name: value for name, value in fields.items() if name not in _SHOWN}


def _logical(context: Context) -> dict[str, dict[str, Any]]:
    answer = context.answers.good(LOGICAL)
    if answer is None:
        return {}
    try:
        return msgspec.json.decode(answer.body, type=_Answer).data.actors
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        context.problems.append(f"The recorded answer of {LOGICAL} cannot be read: {error}.")
        return {}


def _shown(fields: dict[str, Any]) -> ShownActor | None:
    try:
        return msgspec.convert({n: v for n, v in fields.items() if v is not None}, ShownActor, strict=False)
    except msgspec.ValidationError:
        return None
