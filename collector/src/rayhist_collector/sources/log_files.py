"""The `log-files` source: every file below each session's `logs/`, followed and sent as log packs.

The current session is followed, and so are those that were left on disk before: each under its own name and
under its own node, as its own files say.  Until they say it, the bytes stay where they are.
"""

from __future__ import annotations

import asyncio
import fnmatch
from pathlib import Path

import msgspec

from rayhist.config import ByteSize, Seconds
from rayhist.errors import ConfigError, DataError, Unavailable
from rayhist.hookspecs import hookimpl
from rayhist.kinds import SourceKind
from rayhist.source import Intake, Source, SourceContext
from rayhist_collector import sessions
from rayhist_collector.log_scan import LogEntry, Scan, scan
from rayhist_collector.positions import Positions
from rayhist_collector.reporting import say
from rayhist_collector.sessions import SessionFolder
from rayhist_collector.tail import Mask, Tail

_REWRITTEN_INTERVAL_S = 60.0
_MAX_REWRITTEN_BYTES = 16 << 20


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of the `log-files` source."""

    interval_s: Seconds = 10.0
    """Seconds between two packs; what a killed node loses at most."""
    pack_bytes: ByteSize = ByteSize(256 << 20)
    """Most bytes of logs, not compressed, in one pack; the rest follows at once in the next."""
    file_bytes: ByteSize = ByteSize(64 << 20)
    """Most bytes of one file in one pack, so that a huge file does not keep the others waiting."""
    leftover_sessions: bool = True
    """Whether sessions that were on disk before the current one are recorded, too."""
    rewritten: tuple[str, ...] = ("debug_state*.txt",)
    """Files that are written anew instead of appended to (patterns): only their last state is kept."""
    masked: tuple[str, ...] = ("export_events/*", "runtime_env_agent.*", "runtime_env_setup-*")
    """Files that runtime environments stand in (patterns): `[redaction]` says what is overwritten there."""


class LogFiles(Source):
    """Sweeps all sessions each interval."""

    def __init__(self, context: SourceContext, options: Options) -> None:
        if not options.pack_bytes or not options.file_bytes:
            raise ConfigError("pack_bytes and file_bytes of log-files must not be 0")
        self._context = context
        self._options = options
        self._log = context.log
        self._positions = Positions(context.state_dir)
        self._tails: dict[str, Tail] = {}
        self._rewritten: dict[tuple[str, str], tuple[int, int]] = {}
        self._rewritten_due = 0.0
        self._said: set[tuple[str, str, str]] = set()
        self._sweep: asyncio.Task[None] | None = None

    async def run(self, intake: Intake) -> None:
        while True:
            started = self._context.clock.monotonic()
            await self._swept(intake)
            elapsed = self._context.clock.monotonic() - started
            await self._context.clock.sleep(max(0.0, self._options.interval_s - elapsed))

    async def finish(self, intake: Intake) -> None:
        if self._sweep is not None:
            await asyncio.wait([self._sweep])
        self._rewritten_due = 0.0
        await self._swept(intake)

    async def _swept(self, intake: Intake) -> None:
        """One sweep, which a cancellation does not tear: it works on a thread and would go on there."""
        self._sweep = asyncio.create_task(self._sweep_all(intake))
        await asyncio.shield(self._sweep)
        self._sweep = None

    async def _sweep_all(self, intake: Intake) -> None:
        rewritten = self._context.clock.monotonic() >= self._rewritten_due
        if rewritten:
            self._rewritten_due = self._context.clock.monotonic() + _REWRITTEN_INTERVAL_S
        for folder in await asyncio.to_thread(self._folders):
            try:
                await self._sweep_session(intake, folder, rewritten=rewritten)
            except (Unavailable, OSError) as error:
                say(self._log, "logs wait, since the spool cannot be written", error)
                return

    def _folders(self) -> list[SessionFolder]:
        """The current session first; those that are gone are forgotten."""
        latest = sessions.latest(self._context.temp_dir)
        found = sessions.folders(self._context.temp_dir)
        for name in self._tails.keys() - {folder.name for folder in found}:
            del self._tails[name]
        if latest is not None and not self._options.leftover_sessions:
            found = [folder for folder in found if folder.name >= latest.name or folder.name in self._tails]
        return sorted(found, key=lambda folder: latest is None or folder.name != latest.name)

    async def _sweep_session(self, intake: Intake, folder: SessionFolder, *, rewritten: bool) -> None:
        if not intake.node(folder.name):
            self._say("the session's node is not known yet; its logs wait", folder.name)
            return
        found = await asyncio.to_thread(scan, folder.logs)
        appended = [entry for entry in found.entries if not self._is_rewritten(entry.path)]
        tail = await asyncio.to_thread(self._tail, folder)
        more = await asyncio.to_thread(tail.look, appended, self._context.clock.time_ms())
        while more:
            more = await self._pack(intake, folder, tail)
        self._report(intake, folder, found, tail)
        if rewritten:
            for entry in found.entries:
                if self._is_rewritten(entry.path):
                    await self._whole(intake, folder, entry)

    async def _pack(self, intake: Intake, folder: SessionFolder, tail: Tail) -> bool:
        limits = {"most_bytes": self._options.pack_bytes, "most_per_file": self._options.file_bytes}
        try:
            async with intake.log_pack(folder.name) as pack:
                more = await asyncio.to_thread(lambda: tail.record(pack, **limits))
        except DataError:
            return False  # the node's id was lost again; the bytes wait
        await asyncio.to_thread(tail.commit)
        return more

    def _tail(self, folder: SessionFolder) -> Tail:
        if folder.name not in self._tails:
            files = self._positions.load(folder.name)
            redactor = self._context.redactor
            self._tails[folder.name] = Tail(
                folder.logs,
                files,
                lambda files: self._positions.store(folder.name, files),
                Mask(self._options.masked, redactor.mask) if redactor else None,
            )
        return self._tails[folder.name]

    def _is_rewritten(self, path: str) -> bool:
        return any(fnmatch.fnmatchcase(path, pattern) for pattern in self._options.rewritten)

    async def _whole(self, intake: Intake, folder: SessionFolder, entry: LogEntry) -> None:
        """Store the file's state, if it is another one than last time."""
        key, state = (folder.name, entry.path), (entry.size, entry.modified_ns)
        if self._rewritten.get(key) == state or entry.size > _MAX_REWRITTEN_BYTES:
            return
        data = await asyncio.to_thread(_read, folder.logs / entry.path)
        if data:
            await intake.log_file(folder.name, entry.path, data)
            self._rewritten[key] = state

    def _report(self, intake: Intake, folder: SessionFolder, found: Scan, tail: Tail) -> None:
        for path, reason in {**found.problems, **tail.problems}.items():
            if self._say("a log file cannot be read", folder.name, path, reason=reason):
                intake.lost(f"logs/{path}", reason=reason, session=folder.name)
        for path, size in tail.unread.items():
            reason = "deleted before it was read"
            self._log.warning("a log file was deleted before it was read", path=path, bytes=size)
            intake.lost(f"bytes of logs/{path}", reason=reason, count=size, session=folder.name)

    def _say(self, text: str, session: str, path: str = "", **more: str) -> bool:
        """Log a warning once per file; returns whether this was the first time."""
        if (text, session, path) in self._said:
            return False
        self._said.add((text, session, path))
        self._log.warning(text, session=session, **({"path": path} if path else {}), **more)
        return True


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


@hookimpl
def rayhist_source() -> SourceKind:
    return SourceKind(api=1, name="log-files", options=Options, open=LogFiles)
