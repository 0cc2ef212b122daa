"""How far a replay is, and what it found."""

from __future__ import annotations

import msgspec


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
    bad_events: int = 0
    foreign_events: int = 0
    """Events of another session, which were left out."""
    damaged: dict[str, str] = {}
    """Key → what is wrong with the object."""
    unknown_objects: list[str] = []
    problems: list[str] = []
