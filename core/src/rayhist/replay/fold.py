"""A fold: takes events in any order, any number of times, and writes rows to the index at the end."""

from __future__ import annotations

from abc import ABC, abstractmethod

from rayhist.events import Event
from rayhist.index import IndexWriter
from rayhist.replay.context import Context


class Fold(ABC):
    """The rows depend on the *set* of events alone: order, splits and duplicates change nothing."""

    types: frozenset[str]
    """The event types it wants."""

    @abstractmethod
    def add(self, event: Event) -> None:
        """Take one event.  Raises `DataError` if it cannot be believed; then nothing of it was taken."""

    @abstractmethod
    def write(self, context: Context, writer: IndexWriter) -> None:
        """Write the rows and documents."""
