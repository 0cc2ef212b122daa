"""The event files that are being written, one per session, reporting node and job: a JSON line per event.

A file's name says all that sealing needs, so that the next start can seal what a crash left behind:
`events~<session>~<node or ->~<job or ->~<unix ns>.jsonl`.  Its key, too, comes from that name alone: sealing
the same file twice gives the same object.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from rayhist.clock import Clock
from rayhist.ids import Session
from rayhist.layout import EventFile
from rayhist.manifest import Stored
from rayhist_collector.envelope import Group

_KIND = "events"
_NONE = "-"
_NS = 1_000_000_000


class Event(NamedTuple):
    """An event as it is written: its id, its type and its line, without the line break."""

    id: str
    type: str
    line: bytes


def count(tally: dict[str, Stored], events: Iterable[Event], now_ms: int) -> None:
    """Add the events to a tally by type."""
    for event in events:
        stored = tally.setdefault(event.type, Stored(first_ms=now_ms))
        stored.count += 1
        stored.bytes += len(event.line)
        stored.last_ms = now_ms


class Finished(msgspec.Struct, frozen=True):
    """A file that is no longer written to; `tally` counts its events by type."""

    path: Path
    group: Group
    created_ns: int
    tally: dict[str, Stored]

    def reference(self, session: Session, node: str) -> EventFile:
        hour = datetime.fromtimestamp(self.created_ns // _NS, UTC).strftime("%Y-%m-%d-%H")
        return EventFile(session, node, self.group.job, hour, self.created_ns)


class EventFiles:
    """Appends to the open files.  Not thread-safe; used by one thread only."""

    def __init__(
        self, folder: Path, clock: Clock, *, fsync: bool, max_bytes: int = 32 << 20, max_open: int = 64
    ) -> None:
        self._folder = folder
        self._clock = clock
        self._fsync = fsync
        self._max_bytes = max_bytes
        self._max_open = max_open
        self._open: dict[Group, _OpenFile] = {}
        self._last_ns = 0

    def begin_after(self, created_ns: int) -> None:
        """Name no file as one of an earlier run, even if the clock was set back since."""
        self._last_ns = max(self._last_ns, created_ns)

    def append(self, group: Group, events: Sequence[Event]) -> None:
        """Write the events, all of them or none.  Raises `OSError`."""
        file = self._open.get(group)
        if file is None:
            file = self._open[group] = _OpenFile(self._folder, group, self._next_ns())
        file.append(b"\n".join(event.line for event in events) + b"\n")
        count(file.tally, events, self._clock.time_ms())

    def flush(self) -> None:
        """Return when what was appended has reached the disk, if so configured.  Raises `OSError`."""
        for file in self._open.values():
            if file.dirty and self._fsync:
                os.fdatasync(file.descriptor)
            file.dirty = False

    def full(self) -> list[Finished]:
        """Finish the files that are big enough, and the oldest if there are too many."""
        spare = max(0, len(self._open) - self._max_open)
        oldest = set(list(self._open)[:spare])
        return self._finish(lambda group: group in oldest or self._open[group].size >= self._max_bytes)

    def others(self, session: str) -> list[Finished]:
        """Finish the files of all other sessions: theirs has ended."""
        return self._finish(lambda group: group.session != session)

    def all(self) -> list[Finished]:
        return self._finish(lambda _: True)

    def _finish(self, chosen: Callable[[Group], bool]) -> list[Finished]:
        finished = []
        for group in list(filter(chosen, self._open)):
            file = self._open.pop(group)
            os.close(file.descriptor)
            finished.append(Finished(file.path, group, file.created_ns, file.tally))
        return finished

    def _next_ns(self) -> int:
        self._last_ns = max(self._last_ns + 1, self._clock.time_ns())
        return self._last_ns


class _OpenFile:
    def __init__(self, folder: Path, group: Group, created_ns: int) -> None:
        parts = [_KIND, group.session, group.node or _NONE, group.job or _NONE, str(created_ns)]
        self.path = folder / ("~".join(parts) + ".jsonl")
        self.created_ns = created_ns
        self.descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self.size = 0
        self.dirty = False
        self.tally: dict[str, Stored] = {}

    def append(self, data: bytes) -> None:
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self.descriptor, view) :]
        except OSError:
            os.ftruncate(self.descriptor, self.size)
            os.lseek(self.descriptor, self.size, os.SEEK_SET)
            raise
        self.size += len(data)
        self.dirty = True


def left_over(folder: Path) -> Iterator[Finished]:
    """The files that a crash left open, oldest first, uncounted.

    A torn last line was never acknowledged, so it is cut off.
    """
    found = [finished for path in folder.glob(f"{_KIND}~*.jsonl") if (finished := _parse(path))]
    for finished in sorted(found, key=lambda one: one.created_ns):
        _cut_torn_line(finished.path)
        if finished.path.stat().st_size:
            yield finished
        else:
            finished.path.unlink()


def _parse(path: Path) -> Finished | None:
    try:
        _, session, node, job, created = path.stem.split("~")
        group = Group(session, node.removeprefix(_NONE), job.removeprefix(_NONE))
        return Finished(path, group, int(created), {})
    except ValueError:
        return None


def _cut_torn_line(path: Path) -> None:
    with path.open("rb+") as file:
        end = file.seek(0, os.SEEK_END)
        while end:
            start = max(0, end - 65536)
            file.seek(start)
            found = file.read(end - start).rfind(b"\n")
            if found >= 0:
                file.truncate(start + found + 1)
                return
            end = start
        file.truncate(0)
