"""From byte ranges of file identities to the files a user sees: one name each, no byte twice, holes counted.

A file keeps its identity when Ray rotates it, so its name is the last one it had.  Where two files end with
one name, the newest keeps it; older ones, which Ray has deleted by then, get the next free `.2`, `.3`, ….
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from rayhist.index import LogFileRow, LogRange
from rayhist.logpack import PackedFile, RangeEntry, Table

_NUMBERED = re.compile(r"(.+)\.([0-9]{1,6})\Z")
_FIRST_NUMBER = 2


class _Piece(msgspec.Struct, frozen=True, gc=False):
    """Bytes `[start, end)` of a file: an archive's key, and the member if that is a pack."""

    start: int
    end: int
    key: str
    entry: RangeEntry | None


class _Generation(msgspec.Struct):
    """One file, from its making to its deletion, whatever it was called meanwhile."""

    path: str
    seen: tuple[int, int, str]
    """When it was last seen: epoch ms, number of the pack, id (which a collector lets begin with a time)."""
    names: int = 0
    """How many names it had before."""
    pieces: list[_Piece] = []
    folder: bool = False


class NodeFiles:
    """Collects what the archive has of one node's log files.  Add its packs in the order of their keys."""

    def __init__(self, node: str) -> None:
        self.node = node
        self._packed: dict[str, _Generation] = {}
        self._whole: list[_Generation] = []
        self._packs = 0

    def add_pack(self, key: str, first_ms: int, table: Table) -> None:
        """Take a pack's table; `first_ms` is the time in its name."""
        self._packs += 1
        for file in table.files:
            self._name(file, (first_ms, self._packs, file.id))
        for entry in table.ranges:
            self._packed[entry.file_id].pieces.append(_Piece(entry.start, entry.end, key, entry))

    def _name(self, file: PackedFile, seen: tuple[int, int, str]) -> None:
        known = self._packed.setdefault(file.id, _Generation(file.path, seen, folder=file.folder))
        known.seen = max(known.seen, seen)
        if len(file.previous) >= known.names:
            known.path, known.names = file.path, len(file.previous)

    def add_file(self, path: str, key: str, size: int, modified_ms: int) -> None:
        """Take a whole file; `modified_ms` is when it was written to the archive."""
        pieces = [_Piece(0, size, key, None)] if size else []
        self._whole.append(_Generation(path, (modified_ms, 0, ""), pieces=pieces))

    def files(self) -> Iterator[tuple[LogFileRow, list[LogRange]]]:
        """Each file with its ranges, sorted and without overlaps."""
        for path, generation in sorted(_distinct(self._generations()).items()):
            pieces = list(_disjoint(generation.pieces))
            size = _size(generation)
            covered = sum(piece.end - piece.start for piece in pieces)
            ranges = [LogRange(one.start, one.end, one.key, _member(one.entry)) for one in pieces]
            name = f"{path}/" if generation.folder else path
            yield LogFileRow(self.node, name, size, size - covered), ranges

    def _generations(self) -> list[_Generation]:
        """All files, but only one where another collector has recorded the same whole as we in packs."""
        found = list(self._packed.values())
        alike = {(one.path, _size(one)): one for one in found}
        for one in self._whole:
            twin = alike.get((one.path, _size(one)))
            if twin is None:
                found.append(one)
            else:
                twin.pieces.extend(one.pieces)
        return found


def _distinct(generations: Iterable[_Generation]) -> dict[str, _Generation]:
    """A name for each generation; an empty one that lost its name is gone."""
    newest_first = sorted(generations, key=_seen, reverse=True)
    named: dict[str, _Generation] = {}
    for one in newest_first:
        named.setdefault(one.path, one)
    for one in newest_first:
        if named[one.path] is not one and one.pieces:
            named[_free(one.path, named)] = one
    return named


def _size(generation: _Generation) -> int:
    return max((piece.end for piece in generation.pieces), default=0)


def _seen(generation: _Generation) -> tuple[int, int, str]:
    return generation.seen


def _free(path: str, taken: dict[str, Any]) -> str:
    match = _NUMBERED.match(path)
    stem, number = (match[1], int(match[2]) + 1) if match else (path, _FIRST_NUMBER)
    number = max(number, _FIRST_NUMBER)
    while f"{stem}.{number}" in taken:
        number += 1
    return f"{stem}.{number}"


def _disjoint(pieces: list[_Piece]) -> Iterator[_Piece]:
    """The pieces in order; what was sent twice is cut off."""
    position = 0
    for one in sorted(pieces, key=_place):
        if one.end > position:
            yield msgspec.structs.replace(one, start=max(one.start, position))
            position = one.end


def _place(piece: _Piece) -> tuple[int, int]:
    return piece.start, -piece.end


def _member(entry: RangeEntry | None) -> bytes | None:
    return None if entry is None else msgspec.json.encode(entry)
