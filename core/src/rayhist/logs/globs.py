"""Which files and folders a glob means, as `pathlib.Path.glob` of Python 3.11 on a node's `logs/` would say.

`*` stays within one folder and finds folders as well, which end in `/`; `**` is any number of folders, and at
the end of a glob finds folders only; so does a glob that ends in `/`.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

_ANY_FOLDERS = "**"


def matching(paths: Iterable[str], glob: str) -> list[str]:
    """The paths that match, and the folders that do, sorted.  `glob` has been checked.

    A path that ends in `/` is a folder with nothing in it.

    Each folder is looked at once, with every place in the glob that it may stand for, so that no glob takes
    much longer than another.
    """
    wanted = _wanted(glob)
    only_folders = glob.endswith("/") or wanted[-1:] == [_ANY_FOLDERS]
    everything = list(paths)
    files = [path for path in everything if not path.endswith("/")]
    places = {"": _opened(wanted, {0})}
    for folder in sorted(_folders(everything)):  # a folder sorts before those in it
        places[folder] = _step(wanted, places, folder)
    found = [f"{folder or '.'}/" for folder, there in places.items() if len(wanted) in there]
    if not only_folders:
        found += [path for path in files if len(wanted) in _step(wanted, places, path)]
    return sorted(found)


def _wanted(glob: str) -> list[str]:
    """The glob's parts; of several `**` in a row, one means the same."""
    parts = [part for part in glob.split("/") if part not in {"", "."}]
    return [
        part
        for part, before in zip(parts, ["", *parts], strict=False)
        if part != before or part != _ANY_FOLDERS
    ]


def _folders(paths: Iterable[str]) -> set[str]:
    """Every folder above a path."""
    found = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return found


def _step(wanted: list[str], places: dict[str, set[int]], path: str) -> set[int]:
    """The places in the glob behind the path, by those behind the folder it is in."""
    folder, _, name = path.rpartition("/")
    reached = set()
    for place in places[folder]:
        if place < len(wanted) and wanted[place] == _ANY_FOLDERS:
            reached.add(place)
        elif place < len(wanted) and fnmatchcase(name, wanted[place]):
            reached.add(place + 1)
    return _opened(wanted, reached)


def _opened(wanted: list[str], places: set[int]) -> set[int]:
    """The places, and that behind a `**` there, which may also stand for no folder at all."""
    behind = {place + 1 for place in places if place < len(wanted) and wanted[place] == _ANY_FOLDERS}
    return places | behind
