"""Where the collector's sealed files go.  The archive (object storage) is the built-in sink."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

import msgspec

from rayhist.clock import Clock
from rayhist.ids import Cluster
from rayhist.storage import Store


class Sealed(msgspec.Struct, frozen=True):
    """A file that is complete: its key in the layout (`rayhist.layout.parse` reads it), path, bytes."""

    key: str
    path: Path
    size: int


class SinkContext(msgspec.Struct, frozen=True):
    """What a sink may know.  `store` is the configured archive."""

    cluster: Cluster
    store: Store
    clock: Clock


class Sink(ABC):
    @abstractmethod
    async def deliver(self, sealed: Sealed) -> None:
        """Return when the file is durable; only then may the collector forget it.

        Delivering the same key twice must be harmless.  Raises `Unavailable` to be called again later,
        and `Denied` when an operator has to act first.
        """

    async def close(self) -> None:  # noqa: B027 - most sinks have nothing to close
        """Let go of connections.  Called once."""
