"""What the dashboard shows under `/events`: the lines of `logs/events/event_*.log` of all nodes.

There are two dialects: C++ writes `host_name`, `pid` and a number as timestamp, Python `source_hostname`,
`source_pid` and a text.  Both are passed on, with keys in camelCase.  Grouping, limits and line breaks are
those of `ray.dashboard.modules.event`, Ray 2.60; the order, by time, is ours (Ray's is that of arrival).
"""

from __future__ import annotations

import asyncio
import math
import re
from typing import Any

import msgspec

from rayhist.google_style import google_style
from rayhist.index import IndexWriter
from rayhist.logs.reading import read
from rayhist.replay.logs import slices
from rayhist.storage import Store

KIND = "event"
GLOBAL = "global"
MAX_LINE_BYTES = 2 * 1024 * 1024
MAX_PER_JOB = 10_000
_SLACK = MAX_PER_JOB // 10
_WANTED = re.compile(r"events/event_[^/]*\.log(\.[0-9]+)?\Z")


async def index(store: Store, writer: IndexWriter, problems: list[str]) -> None:
    """Write one document per job, and one for the events of none; `problems` gets sentences."""
    found = LogEvents()
    for one in slices(writer, _WANTED):
        before = found.skipped
        async for piece in read(store, writer, one):
            await asyncio.to_thread(found.feed, piece)
        found.end_file()
        if count := found.skipped - before:
            problems.append(f"{count} lines of {one.path} of node {one.node} are no events, or too long.")
    await asyncio.to_thread(found.write, writer)


class _Event(msgspec.Struct, frozen=True):
    """When, the how many-th of all, and what to answer."""

    at: float
    number: int
    body: bytes


class LogEvents:
    """Takes the files' bytes piece by piece; what it keeps is bounded by job."""

    def __init__(self) -> None:
        self.skipped = 0
        self._jobs: dict[str, dict[str, _Event]] = {}
        self._number = 0
        self._rest = b""
        self._too_long = False

    def feed(self, piece: bytes) -> None:
        """Take the next bytes of a file."""
        *lines, rest = (self._rest + piece).split(b"\n")
        for line in lines:
            self._line(line)
        self._rest = rest
        if len(rest) > MAX_LINE_BYTES:
            self._rest, self._too_long = b"", True

    def end_file(self) -> None:
        """The file has no more bytes."""
        self._line(self._rest)
        self._rest = b""

    def _line(self, line: bytes) -> None:
        if self._too_long or len(line) > MAX_LINE_BYTES:
            self._too_long = False
            self.skipped += 1
        elif line.strip():
            try:
                self._take(msgspec.json.decode(line, type=dict[str, Any]))
            except (msgspec.MsgspecError, UnicodeError, RecursionError):
                self.skipped += 1

    def _take(self, event: dict[str, Any]) -> None:
        identifier = event.get("event_id")
        if not isinstance(identifier, str):
            raise msgspec.ValidationError("an event without an id")
        message = event.get("message")
        if isinstance(message, str):
            event["message"] = message.replace("\\n", "\n").replace("\\r", "\n")
        self._number += 1
        body = msgspec.json.encode(google_style(event))
        job = self._jobs.setdefault(_job(event), {})
        job[identifier] = _Event(_seconds(event.get("timestamp")), self._number, body)
        if len(job) > MAX_PER_JOB + _SLACK:
            self._jobs[_job(event)] = dict(_newest(job))

    def write(self, writer: IndexWriter) -> None:
        for job, events in sorted(self._jobs.items()):
            bodies = [event.body for _, event in _newest(events)]
            writer.document(KIND, job, b"[" + b",".join(bodies) + b"]")


def _newest(events: dict[str, _Event]) -> list[tuple[str, _Event]]:
    """The newest events, oldest first."""
    return sorted(events.items(), key=lambda pair: (pair[1].at, pair[1].number))[-MAX_PER_JOB:]


def _job(event: dict[str, Any]) -> str:
    fields = event.get("custom_fields")
    job = fields.get("job_id") if isinstance(fields, dict) else None
    return str(job) if job else GLOBAL


def _seconds(timestamp: Any) -> float:
    """Epoch seconds, from a number or a text; 0 if it is neither."""
    try:
        value = float(timestamp)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return value if math.isfinite(value) else 0.0
