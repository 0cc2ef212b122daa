"""Writing an imported session into the archive: logs, answers, events, manifests, and at last the marker."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import tempfile
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import msgspec

from rayhist import layout, manifest
from rayhist.errors import ConfigError, DataError, Denied, NotFound
from rayhist.ids import Session
from rayhist.layout import EventFile, FetchedEndpoint, LogPack, Marker, SnapshotFile
from rayhist.logpack import PackedFile, PackWriter
from rayhist.manifest import Ending, NodeManifest, SessionMarker, Stored
from rayhist.source import Answer, Published, digest_of
from rayhist.storage import Store

_PACK_BYTES = 256 << 20
_LEVEL = 6


class LogContent(msgspec.Struct, frozen=True):
    """One log file: its path below `logs/`, and its bytes in pieces; `None` is an empty folder."""

    path: str
    pieces: Callable[[], Iterator[bytes]] | None


class Filed(msgspec.Struct):
    """What was written, and what was there already."""

    objects: int = 0
    there: int = 0
    bytes: int = 0


class Filing:
    """One session's objects.  Keys come from the content, so doing it again writes the same, or nothing."""

    def __init__(self, store: Store, session: Session) -> None:
        self.session = session
        self.filed = Filed()
        self._store = store

    async def known(self) -> SessionMarker:
        """The marker of an earlier import.  Raises `ConfigError` if a collector recorded this session."""
        key = layout.key(Marker(self.session))
        try:
            found = manifest.read_marker(await self._store.get(key), key)
        except NotFound:
            return SessionMarker()
        except DataError:
            found = SessionMarker()
        if found.ending is not Ending.IMPORTED:
            raise ConfigError(
                f"a collector has recorded {self.session.path}, and an import would mix with that",
                remedy="import it under another name: --cluster or --namespace",
            )
        return found

    async def logs(
        self, node: str, start_ms: int, files: Iterable[LogContent], progress: Callable[[int], None]
    ) -> dict[str, Stored]:
        """File the logs of a node in packs; returns what was filed, by path."""
        stored: dict[str, Stored] = {}
        queue = iter(files)
        sequence = 0
        with tempfile.TemporaryDirectory(prefix="rayhist-import-") as folder:
            rest: Iterator[tuple[LogContent, int, bytes]] | None = None
            while True:
                path = Path(folder, f"{sequence}.zip")
                rest = rest or _pieces(queue)
                pack, more = await asyncio.to_thread(_fill, path, rest, start_ms, stored, progress)
                if not pack.empty:
                    await self._put_file(layout.key(LogPack(self.session, node, start_ms, sequence)), path)
                await asyncio.to_thread(path.unlink)
                sequence += 1
                if not more:
                    return stored

    async def answers(self, answers: list[Answer]) -> None:
        """File the good answers, and one history of them all."""
        lines: list[Answer | Published] = list(answers)
        for answer in answers:
            if answer.status == 200:
                body = bytes(answer.body)
                await self._put(layout.key(FetchedEndpoint(self.session, answer.endpoint)), body)
                lines.append(Published(answer.endpoint, answer.fetched_at, digest_of(body)))
        if answers:
            key = layout.key(SnapshotFile(self.session, min(one.fetched_at for one in answers), 0))
            await self._put(key, _gzipped(map(msgspec.json.encode, lines)))

    async def events(self, node: str, at_ms: int, lines: list[bytes]) -> None:
        if lines:
            hour = datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d-%H")
            key = layout.key(EventFile(self.session, node, "", hour, at_ms * 1_000_000))
            await self._put(key, _gzipped(lines))

    async def node(self, made: NodeManifest) -> None:
        made.ending = Ending.IMPORTED
        key = layout.key(layout.NodeManifest(self.session, made.node_id))
        await self._put(key, msgspec.json.encode(made))

    async def marker(self, made: SessionMarker, known: SessionMarker) -> None:
        """Write the marker; what an earlier import of another node found out stays."""
        made.collector_version = version("rayhist-collector")
        made.ending = Ending.IMPORTED
        for name in (
            "ray_version",
            "python_version",
            "cluster_uid",
            "head_node",
            "timezone",
            "jobs",
            "imported",
        ):
            setattr(made, name, getattr(made, name) or getattr(known, name))
        made.start_ms = min(filter(None, (made.start_ms, known.start_ms)), default=0)
        made.last_seen_ms = max(made.last_seen_ms, known.last_seen_ms)
        made.end_ms = max(made.end_ms, known.end_ms) if made.end_ms else 0
        await self._put(layout.key(Marker(self.session)), msgspec.json.encode(made))

    async def _put(self, key: str, data: bytes) -> None:
        try:
            if await self._store.get(key) == data:
                self.filed.there += 1
                return
        except (NotFound, Denied):  # or one that may only write
            pass
        await self._store.put(key, data)
        self._count(len(data))

    async def _put_file(self, key: str, path: Path) -> None:
        """A pack of the same size under the same name has the same content: its name comes from it."""
        size = (await asyncio.to_thread(path.stat)).st_size
        try:
            if (await self._store.head(key)).size == size:
                self.filed.there += 1
                return
        except (NotFound, Denied):
            pass
        await self._store.put_file(key, path)
        self._count(size)

    def _count(self, size: int) -> None:
        self.filed.objects += 1
        self.filed.bytes += size


def _pieces(files: Iterator[LogContent]) -> Iterator[tuple[LogContent, int, bytes]]:
    """Each file's pieces with their places; a file without any comes once, empty."""
    for file in files:
        position = 0
        yield file, 0, b""
        for piece in file.pieces() if file.pieces else ():
            yield file, position, piece
            position += len(piece)


def _fill(
    path: Path,
    pieces: Iterator[tuple[LogContent, int, bytes]],
    start_ms: int,
    stored: dict[str, Stored],
    progress: Callable[[int], None],
) -> tuple[PackWriter, bool]:
    """Write one pack; returns it, and whether there is more."""
    named: set[str] = set()
    with PackWriter(path, level=_LEVEL) as pack:
        for file, position, piece in pieces:
            file_id = (
                f"{start_ms:013d}-import-{hashlib.blake2b(file.path.encode(), digest_size=12).hexdigest()}"
            )
            if file_id not in named:
                named.add(file_id)
                pack.name(PackedFile(id=file_id, path=file.path, folder=file.pieces is None))
            if piece:
                pack.add(file_id, position, piece)
                progress(len(piece))
            if file.pieces is not None:
                one = stored.setdefault(file.path, Stored(count=1))
                one.bytes += len(piece)
            if pack.bytes_added >= _PACK_BYTES:
                return pack, True
    return pack, False


def _gzipped(lines: Iterable[bytes]) -> bytes:
    return gzip.compress(b"".join(line + b"\n" for line in lines), compresslevel=_LEVEL, mtime=0)
