"""What feeds the collector: a source of events, log bytes and dashboard answers.

A source runs beside one Ray node and hands what it sees to an `Intake`, which puts it on local disk;
shipping it is not the source's business.  It outlives outages by itself: it waits and says so.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import msgspec

from rayhist.clock import Clock
from rayhist.ids import Cluster
from rayhist.logpack import PackWriter
from rayhist.redaction import Redactor


class Answer(msgspec.Struct, frozen=True):
    """One answer of a dashboard: canonical endpoint (path with query), epoch ms, HTTP status, body."""

    endpoint: str
    fetched_at: int
    status: int
    body: msgspec.Raw


class Published(msgspec.Struct, frozen=True):
    """A line among recorded answers: when the endpoint's last good answer, kept as an object, was fetched.

    Epoch ms, and the `digest_of` its body.  The object itself has no place for a time, and its own changes
    when an archive is copied.
    """

    endpoint: str
    published_at: int
    digest: str


def digest_of(body: bytes | msgspec.Raw) -> str:
    """Names an answer's body: 128 bits of BLAKE2b in hex."""
    return hashlib.blake2b(body, digest_size=16).hexdigest()


class Intake(ABC):
    """Where a source puts what it has.  When a call returns, the data is on local disk.

    `Unavailable` is raised when the local disk does not take it: nothing was promised, so try again.
    """

    @abstractmethod
    def node(self, session: str) -> str:
        """The id in hex of the node beside us, as it is called in that session; `""` while unknown."""

    @abstractmethod
    async def events(self, lines: Iterable[bytes]) -> int:
        """Store events, each one JSON object as Ray posted it; returns how many were new.

        What cannot be believed is quarantined and counted, never refused.
        """

    @abstractmethod
    async def answers(self, session: str, answers: Iterable[Answer]) -> None:
        """Store dashboard answers of the session: those that differ from the one before.

        The last one with status 200 is also kept as the endpoint's last good one; an empty answer never
        takes the place of a full one.
        """

    @abstractmethod
    def log_pack(self, session: str) -> AbstractAsyncContextManager[PackWriter]:
        """Open a pack for new log bytes of the session; leaving the block seals it, if it has any.

        An exception in the block throws the pack away.  Raises `DataError` while the session's node is
        unknown.
        """

    @abstractmethod
    async def log_file(self, session: str, path: str, data: bytes) -> None:
        """Store a whole log file in place of what was stored of it: one that is rewritten, not appended to.

        Raises `DataError` while the session's node is unknown.
        """

    @abstractmethod
    async def file(self, key: str, data: bytes) -> None:
        """Store one object under a key of the layout (a frontend's asset, say)."""

    @abstractmethod
    def lost(self, what: str, *, reason: str, count: int = 1, session: str = "") -> None:
        """Count something that could not be recorded; it appears in the node's manifest.

        Without a session it counts for the current one.
        """

    def metrics(self) -> bytes:
        """The collector's metrics in Prometheus' text format."""
        return b""


class SourceContext(msgspec.Struct, frozen=True):
    """What a source may know: its cluster, the node's role, Ray's temp dir, and where its state may live."""

    cluster: Cluster
    role: str
    """`head` or `worker`; `""` if it is not known yet."""
    temp_dir: Path
    """Ray's `--temp-dir`: the folder that holds `session_latest`."""
    state_dir: Path
    """A folder of the source's own, kept across restarts."""
    clock: Clock
    log: Any
    """A structlog logger, or anything with `info`, `warning` and `error` taking an event and keywords."""
    redactor: Redactor | None = None
    """For log files in which runtime environments stand; the intake redacts events and answers by itself."""


class Source(ABC):
    """One opened source."""

    stops_last = False
    """Whether it takes what others bring and so goes on until the other sources have finished."""

    @abstractmethod
    async def run(self, intake: Intake) -> None:
        """Work until cancelled."""

    async def finish(self, intake: Intake) -> None:  # noqa: B027 - many sources have nothing left to sweep
        """Sweep once more before the node goes away; called after `run` was cancelled."""
