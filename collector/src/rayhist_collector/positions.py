"""How far each session's log files were recorded, kept from one start of the collector to the next."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from rayhist_collector.tail import Tracked


class Positions:
    """One JSON document per session, replaced as a whole."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, session: str) -> list[Tracked]:
        """The files of a session; none if nothing was recorded of it, or if the document is broken.

        A broken document costs duplicates, never bytes: everything is recorded again under new ids.
        """
        try:
            return msgspec.json.decode(self._path(session).read_bytes(), type=list[Tracked])
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return []

    def store(self, session: str, files: list[Tracked]) -> None:
        """Return when it has reached the disk.  Raises `OSError`."""
        path = self._path(session)
        temporary = path.with_suffix(".tmp")
        with temporary.open("wb") as file:
            file.write(msgspec.json.encode(files))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)

    def _path(self, session: str) -> Path:
        return self._folder / f"{session}.json"
