"""What a check came to, in words."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Role(StrEnum):
    """As whom the archive is used; it decides which rights are needed."""

    COLLECTOR = "collector"
    SERVER = "server"


class State(StrEnum):
    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "skipped"


class Finding(msgspec.Struct, frozen=True):
    """One check: its name, how it ended, what was seen, and for a failure what to do about it."""

    check: str
    state: State
    text: str
    remedy: str = ""
