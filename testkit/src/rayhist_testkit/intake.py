"""An intake that keeps what a source hands over, for tests to look at."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable
from itertools import count
from pathlib import Path

from rayhist.errors import Unavailable
from rayhist.logpack import PackWriter, member_span, read_member, read_table
from rayhist.source import Answer, Intake

NODE = "ab" * 28


class RecordingIntake(Intake):
    """Keeps everything in memory, and packs in `folder`; while it is `full`, it raises as on a full disk."""

    def __init__(self, folder: Path, *, node: str = NODE) -> None:
        self.full = False
        self.lines: list[bytes] = []
        self.recorded_answers: list[tuple[str, Answer]] = []
        self.packs: list[tuple[str, Path]] = []
        self.files: dict[str, bytes] = {}
        self.log_files: dict[tuple[str, str], bytes] = {}
        self.losses: list[tuple[str, int, str]] = []
        self._folder = folder
        self._node = node
        self._numbers = count()

    @property
    def empty(self) -> bool:
        """Whether nothing has arrived yet; losses do not count."""
        return not (self.lines or self.recorded_answers or self.packs or self.files or self.log_files)

    async def until(self, condition: Callable[[], bool], *, within_s: float = 30.0) -> None:
        """Wait until the condition holds.  Raises `TimeoutError`."""
        async with asyncio.timeout(within_s):
            while not condition():  # noqa: ASYNC110 - the condition is the test's own, nothing announces it
                await asyncio.sleep(0.02)

    def node(self, session: str) -> str:  # noqa: ARG002 - one node in all sessions
        return self._node

    async def events(self, lines: Iterable[bytes]) -> int:
        self._check()
        new = [line for line in lines if line not in self.lines]
        self.lines += new
        return len(new)

    async def answers(self, session: str, answers: Iterable[Answer]) -> None:
        self._check()
        self.recorded_answers += [(session, answer) for answer in answers]

    @contextlib.asynccontextmanager
    async def log_pack(self, session: str) -> AsyncIterator[PackWriter]:
        self._check()
        path = self._folder / f"{next(self._numbers)}.zip"
        with PackWriter(path) as writer:
            yield writer
        if not writer.empty:
            self.packs.append((session, path))

    async def log_file(self, session: str, path: str, data: bytes) -> None:
        self._check()
        self.log_files[session, path] = data

    async def file(self, key: str, data: bytes) -> None:
        self._check()
        self.files[key] = data

    def lost(self, what: str, *, reason: str, count: int = 1, session: str = "") -> None:  # noqa: ARG002
        self.losses.append((what, count, reason))

    def logs(self, session: str) -> dict[str, bytes]:
        """The bytes of each log file by its latest path, put together from the packs."""
        names: dict[str, str] = {}
        bodies: dict[str, bytearray] = {}
        for its_session, path in self.packs:
            if its_session == session:
                data = path.read_bytes()
                table = read_table(data, path.name)
                names |= {file.id: file.path for file in table.files}
                for entry in sorted(table.ranges, key=lambda entry: (entry.file_id, entry.start)):
                    begin, end = member_span(entry)
                    body = bodies.setdefault(entry.file_id, bytearray())
                    body[entry.start : entry.end] = read_member(data[begin:end], entry, path.name)
        return {names[file_id]: bytes(body) for file_id, body in bodies.items()}

    def _check(self) -> None:
        if self.full:
            raise Unavailable("the local disk is full", remedy="this is a test")
