"""The dashboard's own static files, of the Ray version that the session ran with.

They come from the archive's `frontends/<version>/` and are kept on disk.  If that version is not there, the
nearest one serves: the files of neighbouring versions differ little, and their calls fail softly.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import uuid
from pathlib import Path, PurePosixPath

import msgspec

from rayhist import layout, manifest
from rayhist.clock import Clock
from rayhist.errors import DataError, NotFound, RayhistError
from rayhist.ids import Session
from rayhist.storage import Store
from rayhist_server.cache import private_folder

_METADATA = "/api/v0/cluster_metadata"
_DIGEST_BYTES = 16
_REMEMBERED = 1000
_TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".ico": "image/vnd.microsoft.icon",
    ".js": "application/javascript",
    ".json": "application/json",
    ".map": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
}


class NoFrontend(RayhistError):
    """The archive has no frontend at all, so only programs can use the session."""


class Asset(msgspec.Struct, frozen=True):
    """A static file: its bytes, media type and ETag."""

    body: bytes
    kind: str
    etag: str


class Frontends:
    """The frontends of one archive.  Used on one event loop."""

    def __init__(self, store: Store, folder: Path, clock: Clock, *, refresh_interval_s: float) -> None:
        """`folder` is for the copies; raises `ConfigError` if it cannot be used."""
        self._store = store
        self._folder = folder / hashlib.blake2b(store.location.encode(), digest_size=8).hexdigest()
        self._clock = clock
        self._refresh_interval_s = refresh_interval_s
        self._present: list[str] = []
        self._listed_at: float | None = None
        self._wanted: dict[str, str] = {}
        private_folder(self._folder)

    async def asset(self, session: Session, path: str) -> Asset:
        """A file of the session's frontend.

        Raises `NoFrontend`, `NotFound`, `BadIdentifier`, and what the store raises.
        """
        key = layout.key(layout.FrontendFile(await self._version(session), path))
        if not path.startswith("static/"):  # small, and what names the current static files: always fresh
            return _asset(path, await self._store.get(key))
        copy = self._folder / hashlib.blake2b(key.encode(), digest_size=16).hexdigest()
        body = await asyncio.to_thread(_read, copy)
        if body is None:
            body = await self._store.get(key)
            await asyncio.to_thread(_write, copy, body)
        return _asset(path, body)

    async def _version(self, session: Session) -> str:
        wanted = self._wanted.get(session.path, "")
        if not wanted and (wanted := await self._recorded(session)):
            if len(self._wanted) >= _REMEMBERED:
                self._wanted.clear()
            self._wanted[session.path] = wanted
        present = await self._versions()
        if not present:
            raise NoFrontend(
                "the archive has no dashboard frontend",
                remedy="add one from an installed Ray or its wheel: rayhist frontend add --help",
            )
        return nearest(wanted, present)

    async def _recorded(self, session: Session) -> str:
        """The session's Ray version as its marker says it, or its recorded metadata; `""` if neither does."""
        key = layout.key(layout.Marker(session))
        try:
            marker = manifest.read_marker(await self._store.get(key), key)
        except (NotFound, DataError):
            marker = manifest.SessionMarker()
        if marker.ray_version:
            return marker.ray_version
        try:
            body = await self._store.get(layout.key(layout.FetchedEndpoint(session, _METADATA)))
            return msgspec.json.decode(body, type=_Metadata).data.ray_version
        except (NotFound, msgspec.MsgspecError):
            return ""

    async def _versions(self) -> list[str]:
        now = self._clock.monotonic()
        if self._listed_at is None or now - self._listed_at >= self._refresh_interval_s:
            self._present = [
                name for name in await self._store.list_folders(f"{layout.FRONTENDS}/") if _numbers(name)
            ]
            self._listed_at = now
        return self._present


class _Versions(msgspec.Struct, rename="camel"):
    ray_version: str = ""


class _Metadata(msgspec.Struct):
    data: _Versions


def nearest(wanted: str, present: list[str]) -> str:
    """The version itself, else the one next to it; of two as near the newer one, and the newest for `""`."""
    if wanted in present:
        return wanted
    numbers = _numbers(wanted)
    if not numbers:
        return max(present, key=_numbers)

    def distance(version: str) -> tuple[list[int], list[int]]:
        its = _numbers(version)
        return [abs(a - b) for a, b in zip(numbers, its, strict=True)], [-number for number in its]

    return min(present, key=distance)


def _numbers(version: str) -> list[int]:
    match = re.match(r"(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?", version)
    return [int(part or 0) for part in match.groups()] if match else []


def _asset(path: str, body: bytes) -> Asset:
    kind = _TYPES.get(PurePosixPath(path).suffix, "application/octet-stream")
    return Asset(body, kind, f'"{_digest(body).hex()}"')


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST_BYTES).digest()


def _read(copy: Path) -> bytes | None:
    """The copy's content, if it is what was written."""
    try:
        content = copy.read_bytes()
    except OSError:
        return None
    digest, body = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    return body if digest == _digest(body) else None


def _write(copy: Path, body: bytes) -> None:
    """Keep a copy; a cache that cannot be written costs only speed."""
    part = copy.with_name(f"{uuid.uuid4().hex}.part")
    try:
        part.write_bytes(_digest(body) + body)
        part.replace(copy)
    except OSError:
        part.unlink(missing_ok=True)
