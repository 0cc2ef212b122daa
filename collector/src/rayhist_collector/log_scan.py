"""Which files a session's `logs/` holds: regular ones, even empty ones, and folders with nothing in them."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NamedTuple

import msgspec

from rayhist import ids
from rayhist.errors import BadIdentifier


class LogEntry(NamedTuple):
    """One file, or empty folder, as a scan saw it; `path` is relative to `logs/`."""

    path: str
    device: int
    inode: int
    size: int
    modified_ns: int
    folder: bool = False


class Scan(msgspec.Struct):
    """The files in order of path, and what could not be looked at: path → why."""

    entries: list[LogEntry] = []
    problems: dict[str, str] = {}


def scan(folder: Path) -> Scan:
    """Walk the folder.  Symbolic links, sockets and devices are left out; a missing folder has no files."""
    found = Scan()
    _walk(folder, "", found)
    found.entries.sort()
    return found


def _walk(folder: Path, prefix: str, found: Scan) -> int | None:
    """Look at everything in a folder; returns how much that is, if that can be known."""
    try:
        children = list(os.scandir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        found.problems[prefix or "."] = str(error.strerror)
        return None
    for child in children:
        path = prefix + child.name
        try:
            status = child.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue  # rotated away meanwhile; it is there under its next name
        except OSError as error:
            found.problems[_shown(path)] = str(error.strerror)
            continue
        if stat.S_ISDIR(status.st_mode):
            if _walk(Path(child.path), f"{path}/", found) == 0:
                _add(path, status, found, folder=True)
        elif stat.S_ISREG(status.st_mode):
            _add(path, status, found)
    return len(children)


def _add(path: str, status: os.stat_result, found: Scan, *, folder: bool = False) -> None:
    try:
        ids.relative_path(path)
    except BadIdentifier:
        found.problems[_shown(path)] = "its name cannot be part of a key"
        return
    size = 0 if folder else status.st_size
    entry = LogEntry(path, status.st_dev, status.st_ino, size, status.st_mtime_ns, folder)
    found.entries.append(entry)


def _shown(path: str) -> str:
    return path.encode("utf-8", "backslashreplace").decode()[:200]
