"""How far a replay is, and what it found."""

from __future__ import annotations

import msgspec

from rayhist.manifest import Stored


class Progress(msgspec.Struct):
    """How far a replay is: compressed bytes and events read, and the bytes there are in all."""

    total_bytes: int = 0
    bytes: int = 0
    events: int = 0
    step: str = "listing"


class Report(msgspec.Struct):
    """What a replay found: counts, and per object what could not be read."""

    digest: str = ""
    events: int = 0
    events_by_type: dict[str, int] = {}
    recorded: dict[str, dict[str, Stored]] = {}
    """Node → event type → the events that were read from that node's files; times to the second."""
    bad_events: int = 0
    foreign_events: int = 0
    """Events of another session, which were left out."""
    damaged: dict[str, str] = {}
    """Key → what is wrong with the object."""
    unknown_objects: list[str] = []
    problems: list[str] = []
