"""When the live answers were given, and how the session then ended: what the checks may know."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Ending(StrEnum):
    """How the cluster ended."""

    KILLED = "killed"
    """SIGKILL for everything at once, the collectors too."""
    NODE_LOST = "node-lost"
    """One worker node was killed, the live answers were given when Ray had noticed; then all as above."""
    SHUT_DOWN = "shut-down"
    """SIGTERM for every `ray start --block` and every collector at once."""


class View(StrEnum):
    """Which of a session's two views is asked."""

    LAST_KNOWN = "last-known"
    """As it was last seen: nothing is concluded from the end."""
    ENDED = "ended"
    """What went on at the end is shown as ended with the cluster."""


class Moments(msgspec.Struct, frozen=True):
    """Times are epoch milliseconds."""

    ending: Ending
    view: View
    asked_from_ms: int
    asked_until_ms: int
    """Between these the live dashboard gave its answers."""
    end_ms: int
    """The session's end, as the replay tells it."""
