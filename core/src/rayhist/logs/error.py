"""Why a log cannot be shown."""

from __future__ import annotations

from rayhist.errors import RayhistError


class LogError(RayhistError):
    """A log cannot be shown.  The message is Ray's own where Ray has one.

    `status` is the HTTP status to answer with: Ray says 500 with the message as text for nearly everything.
    """

    def __init__(self, message: str, *, status: int = 500, remedy: str | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.status = status


def clipped(text: str) -> str:
    """What somebody sent, short and printable enough for a message."""
    short = text if len(text) <= 120 else text[:117] + "..."
    return short if short.isprintable() else repr(short)
