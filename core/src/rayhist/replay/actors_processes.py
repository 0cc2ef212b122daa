"""The actors' processes as the dashboard last showed them; it forgets them while a cluster is shut down."""

from __future__ import annotations

from typing import Any

import msgspec

from rayhist.source import Answer

LOGICAL = "/logical/actors"


class _Actor(msgspec.Struct, rename="camel", frozen=True):
    process_stats: msgspec.Raw = msgspec.Raw(b"null")
    worker_id: str = ""
    """What the process says of itself comes with it; the other is measured from outside."""

    @property
    def complete(self) -> bool:
        return bool(self.worker_id) and bytes(self.process_stats) != b"null"


class _Actors(msgspec.Struct):
    actors: dict[str, msgspec.Raw]


class _Answer(msgspec.Struct):
    data: _Actors


class ActorProcesses:
    """By actor: all that the last list said of it which still showed all of its process."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, bytes]] = {}

    def take(self, answer: Answer) -> None:
        """Look at an answer with status 200; other endpoints, and what cannot be read, are ignored."""
        if answer.endpoint != LOGICAL:
            return
        try:
            actors = msgspec.json.decode(answer.body, type=_Answer).data.actors
            shown = {
                one: raw for one, raw in actors.items() if msgspec.json.decode(raw, type=_Actor).complete
            }
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return
        for identifier, raw in shown.items():
            if answer.fetched_at >= self._seen.get(identifier, (0, b""))[0]:
                self._seen[identifier] = (
                    answer.fetched_at,
                    bytes(raw),
                )  # a copy: a `Raw` keeps the whole answer

    def last(self, actor_id: str) -> dict[str, Any]:
        """The actor as it was shown then; empty if its process never was."""
        found: dict[str, Any] = msgspec.json.decode(self._seen.get(actor_id, (0, b"{}"))[1])
        return found
