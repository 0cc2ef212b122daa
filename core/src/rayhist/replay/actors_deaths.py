"""Why an actor died, in the forms the state API and the dashboard give it."""

from __future__ import annotations

from typing import Any

from rayhist.errors import BadIdentifier
from rayhist.ids import IdKind, hex_from_base64

_IDS = {"ownerId": IdKind.WORKER, "actorId": IdKind.ACTOR}
_TEXTS = {
    "actorDiedErrorContext": "errorMessage",
    "runtimeEnvFailedContext": "errorMessage",
    "actorUnschedulableContext": "errorMessage",
    "creationTaskFailureContext": "formattedExceptionString",
}
"""`_actor_table_data_to_dict` in `ray.dashboard.modules.node.node_head` of Ray 2.60."""
NO_DETAIL = "-"


def snake_cased(cause: dict[str, Any]) -> dict[str, Any]:
    """The cause as the state API spells it: snake_case, ids in hex."""
    return {_snake(name): _snaked(name, value) for name, value in cause.items()}


def exit_detail(cause: dict[str, Any] | None) -> str:
    """The dashboard's text for a cause, spelt as in events; `-` for none."""
    for name, field in _TEXTS.items():
        context = (cause or {}).get(name)
        if isinstance(context, dict) and isinstance(text := context.get(field), str):
            return text
    return NO_DETAIL


def died_of(message: str, *, never_started: bool = False, reason: str = "UNSPECIFIED") -> dict[str, Any]:
    """A cause of our own, spelt as in events."""
    context = {"errorMessage": message, "neverStarted": never_started, "reason": reason}
    return {"actorDiedErrorContext": context}


def _snaked(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        return snake_cased(value)
    if name in _IDS and isinstance(value, str):
        try:
            return hex_from_base64(_IDS[name], value)
        except BadIdentifier:
            return value
    return value


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
