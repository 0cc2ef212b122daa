"""SIGKILL at any moment, again and again: every acknowledged event and every log byte is there once."""

from __future__ import annotations

import gzip
import json
import random
import threading
import time
import urllib.error
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rayhist import layout
from rayhist.logpack import member_span, read_member, read_table

pytestmark = pytest.mark.services
_KILLS = 6
_SEED = 20261130


class Poster(threading.Thread):
    """As Ray's exporter: one batch after the other, each until it is answered 200."""

    def __init__(self, process: Any, make_event: Callable[..., Any]) -> None:
        super().__init__(daemon=True)
        self._process = process
        self._make_event = make_event
        self.ended = threading.Event()
        self.acknowledged: list[str] = []

    def run(self) -> None:
        number = 0
        while not self.ended.is_set():
            batch = [self._make_event(number + n) for n in range(20)]
            number += 20
            while not self._post(json.dumps(batch).encode()):
                time.sleep(0.01)
            self.acknowledged += [event["eventId"] for event in batch]

    def _post(self, body: bytes) -> bool:
        try:
            return bool(self._process.post(body) == 200)
        except (OSError, urllib.error.URLError, AssertionError):
            return False


class Writer(threading.Thread):
    """A worker's log, with a rotation now and then."""

    def __init__(self, logs: Path) -> None:
        super().__init__(daemon=True)
        self._logs = logs
        self.ended = threading.Event()
        self.generations: list[bytes] = []

    def run(self) -> None:
        number = 0
        while not self.ended.is_set():
            body = b""
            with (self._logs / "worker.out").open("wb", buffering=0) as file:
                for _ in range(200):
                    line = b"%08d some line of a log\n" % number
                    number += 1
                    file.write(line)
                    body += line
                    time.sleep(0.001)
            self.generations.append(body)
            (self._logs / "worker.out").rename(self._logs / f"worker.out.{len(self.generations)}")


def _events(objects: dict[str, bytes]) -> Counter[str]:
    found: Counter[str] = Counter()
    for key, data in objects.items():
        if isinstance(layout.parse(key), layout.EventFile):
            found.update(json.loads(line)["eventId"] for line in gzip.decompress(data).splitlines())
    return found


def _logs(objects: dict[str, bytes]) -> dict[str, bytes]:
    """By file id; the same range may be there twice, with the same bytes."""
    ranges: dict[str, dict[tuple[int, int], bytes]] = {}
    for key, data in objects.items():
        if isinstance(layout.parse(key), layout.LogPack):
            for entry in read_table(data, key).ranges:
                begin, end = member_span(entry)
                body = read_member(data[begin:end], entry, key)
                known = ranges.setdefault(entry.file_id, {}).setdefault((entry.start, entry.end), body)
                assert known == body
    for file_id, pieces in ranges.items():
        ends = [end for _, end in sorted(pieces)]
        assert [start for start, _ in sorted(pieces)] == [0, *ends[:-1]], f"{file_id}: gaps or overlaps"
    return {
        file_id: b"".join(body for _, body in sorted(pieces.items())) for file_id, pieces in ranges.items()
    }


@pytest.mark.timeout(180)
@pytest.mark.parametrize("fsync", ["always", "never"])
def test_nothing_is_lost_or_doubled_whenever_the_collector_is_killed(
    make_process: Callable[..., Any], ray_folder: Any, make_event: Callable[..., Any], fsync: str
) -> None:
    chance = random.Random(_SEED)
    logs = ray_folder.session()
    process = make_process(fsync=fsync)
    process.start()
    poster, writer = Poster(process, make_event), Writer(logs)
    poster.start()
    writer.start()
    for _ in range(_KILLS):
        assert process.get("/healthz") == "ok\n"
        time.sleep(chance.uniform(0.0, 0.6))
        process.kill()
        process.start()
    assert process.get("/healthz") == "ok\n"
    for thread in (poster, writer):
        thread.ended.set()
        thread.join(timeout=60)
        assert not thread.is_alive()
    assert process.stop() == 0
    objects = process.objects()
    events = _events(objects)
    assert len(poster.acknowledged) > 100
    assert events == Counter(poster.acknowledged), "every acknowledged event, and each once"
    recorded = sorted(body for body in _logs(objects).values() if b"some line" in body)
    assert recorded == sorted(writer.generations)
