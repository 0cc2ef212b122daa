"""Which files and folders a glob means, as `pathlib.Path.glob` of Python 3.11 on a node's `logs/` would say.

`*` stays within one folder and finds folders as well, which end in `/`; `**` is any number of folders, and at
the end of a glob finds folders only; so does a glob that ends in `/`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

_ANY_FOLDERS = "**"


def matching(paths: Iterable[str], glob: str) -> list[str]:
    """The paths that match, and the folders that do, sorted.  `glob` has been checked."""
    wanted = [part for part in glob.split("/") if part not in {"", "."}]
    only_folders = glob.endswith("/") or wanted[-1:] == [_ANY_FOLDERS]
    files = list(paths)
    found = {folder for folder in _folders(files) if _matches(_parts(folder), wanted)}
    if not only_folders:
        found.update(path for path in files if _matches(_parts(path), wanted))
    return sorted(found)


def _folders(paths: Iterable[str]) -> set[str]:
    """Every folder above a path, with `/` behind; the top is `./`."""
    found = {"./"}
    for path in paths:
        folder = path
        while "/" in folder:
            folder = folder.rpartition("/")[0]
            found.add(folder + "/")
    return found


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in {"", "."}]


def _matches(parts: list[str], wanted: list[str]) -> bool:
    """Walk along the path with every place in the glob that is possible, so that no glob takes long."""
    places = set(_open(wanted, {0}))
    for part in parts:
        reached = set()
        for place in places:
            if place < len(wanted) and wanted[place] == _ANY_FOLDERS:
                reached.add(place)
            elif place < len(wanted) and fnmatchcase(part, wanted[place]):
                reached.add(place + 1)
        places = set(_open(wanted, reached))
    return len(wanted) in places


def _open(wanted: list[str], places: set[int]) -> Iterator[int]:
    """The places, and those behind a `**` there, which may also mean no folder."""
    for place in places:
        yield place
        behind = place
        while behind < len(wanted) and wanted[behind] == _ANY_FOLDERS:
            behind += 1
            yield behind
