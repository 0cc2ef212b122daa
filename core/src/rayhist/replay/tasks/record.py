"""One attempt of a task, as far as its events are known; made small, since there may be millions."""

from __future__ import annotations

from typing import Any

import msgspec

from rayhist.events import ErrorInfo
from rayhist.replay.tasks.definition import Definition, merged
from rayhist.replay.tasks.states import FAILED, FINISHED, NIL


class Slice(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Where a task's output stands: bytes `[start, end)` of its worker's files.

    As Ray answers it: what is not known is left out, as an end is until the task has ended.
    """

    stdout_file: str | None = None
    stderr_file: str | None = None
    stdout_start: int | None = None
    stdout_end: int | None = None
    stderr_start: int | None = None
    stderr_end: int | None = None


class Record(msgspec.Struct, gc=False):
    """Every method gives the same result in whatever order, and however often, it is called."""

    definition: Definition | None = None
    states: dict[int, int] = {}
    """Number of the state → nanoseconds since the epoch."""
    node: str = ""
    worker: str = ""
    pid: int = 0
    repr_name: str = ""
    paused: tuple[int, bool] | None = None
    """When it was said, and what."""
    log: Slice | None = None
    error: tuple[int, str, str] | None = None
    """When it was said, its type, and its message."""
    profile: bytes = b""
    """Packed by `rayhist.replay.tasks.profile`."""

    def define(self, definition: Definition) -> None:
        known = self.definition
        self.definition = definition if known is None else merged(known, definition)

    def enter(self, state: int, at_ns: int) -> None:
        """Take the time of a state.  One that was entered again has its latest time."""
        if self.states.get(state, at_ns) <= at_ns:
            self.states[state] = at_ns

    def run_by(self, node: str, worker: str, pid: int, repr_name: str) -> None:
        """Take where it ran, as far as that is said.

        An attempt runs in one place, so two that differ come from damaged data; the greater is taken.
        """
        if node:
            self.node = max(self.node, node)
        if worker:
            self.worker = max(self.worker, worker)
        if pid:
            self.pid = max(self.pid, pid)
        if repr_name:
            self.repr_name = max(self.repr_name, repr_name)

    def logged(self, log: Slice) -> None:
        """Take where its output stands, as far as that is said; of two that differ the greater is taken."""
        if self.log is None:
            self.log = log
            return
        pairs = zip(msgspec.structs.astuple(self.log), msgspec.structs.astuple(log), strict=True)
        self.log = Slice(*(_greater(one, other) for one, other in pairs))

    def failed(self, at_ns: int, error: ErrorInfo) -> None:
        said = (at_ns, error.error_type, error.error_message)
        self.error = said if self.error is None else max(self.error, said)

    def pause(self, at_ns: int, *, paused: bool) -> None:
        said = (at_ns, paused)
        self.paused = said if self.paused is None else max(self.paused, said)

    @property
    def state(self) -> int:
        """The number of the state it is in."""
        return max(self.states, default=NIL)

    @property
    def ended(self) -> bool:
        return FINISHED in self.states or FAILED in self.states


def _greater(one: Any, other: Any) -> Any:
    if one is None or other is None:
        return other if one is None else one
    return max(one, other)
