"""Collector and replay together: every generation of a rotated log comes back whole and in order."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from rayhist import layout
from rayhist.logpack import PackWriter
from rayhist_collector.log_scan import scan
from rayhist_collector.tail import Tail
from rayhist_testkit.logs import NODE, LogArchive, contents, tables

_BACKUPS = 5
_START_MS = 1_796_052_650_000


class Node:
    """A node whose raylet logs, and a collector beside it."""

    def __init__(self, folder: Path) -> None:
        self.archive = LogArchive()
        self.generations = [b""]
        """What was written, oldest generation first."""
        self._logs = folder / "logs"
        self._logs.mkdir()
        self._pack = folder / "pack.zip"
        self._tail = Tail(self._logs, [], lambda _files: None)
        self._now_ms = _START_MS

    def write(self, data: bytes) -> None:
        self.generations[-1] += data
        with (self._logs / "raylet.out").open("ab") as file:
            file.write(data)

    def rotate(self) -> None:
        """As Ray does: `.4` becomes `.5`, and what was `.5` is gone."""
        for number in range(_BACKUPS - 1, 0, -1):
            backup = self._logs / f"raylet.out.{number}"
            if backup.exists():
                backup.replace(self._logs / f"raylet.out.{number + 1}")
        (self._logs / "raylet.out").replace(self._logs / "raylet.out.1")
        self.generations.append(b"")

    def collect(self) -> None:
        """Record everything new, in packs of little."""
        self._now_ms += 10_000
        self._tail.look(scan(self._logs).entries, self._now_ms)
        more = True
        sequence = 0
        while more:
            with PackWriter(self._pack) as pack:
                more = self._tail.record(pack, most_bytes=1 << 30, most_per_file=5_000)
            self._tail.commit()
            reference = layout.LogPack(self.archive.session, NODE, self._now_ms, sequence)
            asyncio.run(self.archive.store.put(layout.key(reference), self._pack.read_bytes()))
            sequence += 1


@pytest.mark.parametrize("seed", range(3))
def test_no_byte_is_lost_or_told_twice_by_twenty_rotations(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    node = Node(tmp_path)
    for _ in range(20):
        for _ in range(chance.randint(1, 4)):
            node.write(chance.randbytes(chance.randint(1, 8_000)))
            if chance.random() < 0.5:
                node.collect()
        node.collect()
        node.rotate()
    node.write(b"the last line\n")
    node.collect()
    with tables(node.archive) as found:
        recorded = contents(node.archive.store, found)
    assert recorded == {
        (NODE, f"raylet.out.{age}" if age else "raylet.out"): data
        for age, data in enumerate(reversed(node.generations))
    }
