"""The collector beside log files: many bytes at once, and many files with nothing new."""

from __future__ import annotations

import contextlib
import resource
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from rayhist_testkit.bench.archive import Archive
from rayhist_testkit.bench.figures import Figure
from rayhist_testkit.bench.process import BenchCollector, until_quiet
from rayhist_testkit.cluster.waiting import until
from rayhist_testkit.generator import SESSION_NAME

_MOST_RSS_MB = 120.0
_MOST_CORE_PERCENT = 1.0
_LOG_FILES = 50
_INTERVAL_S = 10.0
"""The default of `log-files`; the raylet rewrites its `debug_state.txt` as often."""
_WITHIN_S = 600.0


def throughput(megabytes: int, storage: Mapping[str, Any], folder: Path) -> list[Figure]:
    """How fast logs that are there already reach the archive."""
    with BenchCollector(folder, storage, SESSION_NAME) as collector:
        size = _write_logs(collector.logs, megabytes * 1_000_000)
        collector.start()
        begun = time.monotonic()
        until(lambda: collector.metric("log_bytes_total") >= size, "all is packed", within_s=_WITHIN_S)
        until(lambda: not collector.metric("spool_files"), "all is sent", within_s=_WITHIN_S)
        took = time.monotonic() - begun
        cpu_s = collector.stop()
    section = f"{megabytes} MB of logs in {_LOG_FILES} files"
    return [
        Figure(section, "logs archived", size / 1e6 / took, "MB/s", note="starting included"),
        Figure(section, "logs archived per second of CPU", size / 1e6 / cpu_s, "MB/s"),
        Figure(section, "memory at most", collector.peak_rss_bytes / 1e6, "MB", most=_MOST_RSS_MB),
    ]


def idle(count: int, seconds: float, storage: Mapping[str, Any], folder: Path) -> list[Figure]:
    """What so many open files cost: first with nothing new in them, then with a line a second in each."""
    with contextlib.ExitStack() as stack:
        collector = stack.enter_context(BenchCollector(folder, storage, SESSION_NAME))
        files = _opened(count, collector.logs, stack)
        collector.start()
        until(lambda: collector.metric("log_bytes_total") > 0, "the first pack is sent", within_s=_WITHIN_S)
        until_quiet(collector)
        nothing = _percent_of_a_core(collector, seconds)
        with _Lines(files, collector.logs), _Writes(Archive(storage), folder.name) as writes:
            some = _percent_of_a_core(collector, seconds)
        collector.stop()
    section = f"{count:,} open log files"
    return [
        Figure(section, "with nothing new in them", nothing, "% core", most=_MOST_CORE_PERCENT),
        Figure(section, "with a line a second in each", some, "% core"),
        Figure(section, "writes to the store for them, an interval", writes.per_interval, "", most=1.0),
        Figure(section, "memory at most", collector.peak_rss_bytes / 1e6, "MB", most=_MOST_RSS_MB),
    ]


def _percent_of_a_core(collector: BenchCollector, seconds: float) -> float:
    before, begun = collector.cpu_s(), time.monotonic()
    time.sleep(seconds)
    return 100 * (collector.cpu_s() - before) / (time.monotonic() - begun)


def _write_logs(folder: Path, size: int) -> int:
    """Text as workers log it, the same every time; returns how many bytes."""
    written = 0
    for number in range(_LOG_FILES):
        with (folder / f"worker-{number:04d}.out").open("wb") as file:
            line = 0
            while file.tell() < size // _LOG_FILES:
                file.write(_line(number, line))
                line += 1
            written += file.tell()
    return written


def _line(number: int, line: int) -> bytes:
    random = (number * 7919 + line) * 2654435761 % 2**32
    at = f"2026-01-02 03:{line // 60 % 60:02d}:{line % 60:02d},{random % 1000:03d}"
    text = f"step {line} of epoch {number}: loss={random / 2**32:.6f} id={random:08x}"
    return f"{at}\tINFO worker.py:{random % 997} -- {text}\n".encode()


def _opened(count: int, folder: Path, stack: contextlib.ExitStack) -> list[IO[bytes]]:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    files: list[IO[bytes]] = []
    for number in range(count):
        file = stack.enter_context((folder / f"worker-{number:04d}.out").open("wb", buffering=0))
        file.write(b"".join(_line(number, line) for line in range(20)))
        files.append(file)
    return files


class _Until:
    """Does `step` on a thread again and again, from entering the block to leaving it."""

    every_s = 1.0

    def __enter__(self) -> Any:
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        self.step()
        while not self._ended.wait(self.every_s):
            self.step()

    def step(self) -> None:
        raise NotImplementedError


class _Lines(_Until):
    """A line a second in each file, and the raylet's state anew each interval."""

    def __init__(self, files: list[IO[bytes]], folder: Path) -> None:
        self._files = files
        self._state = folder / "debug_state.txt"
        self._number = 0

    def step(self) -> None:
        for number, file in enumerate(self._files):
            file.write(_line(number, self._number))
        if self._number % int(_INTERVAL_S) == 0:
            self._state.write_text(f"Node ID: …\nstep {self._number}\n")
        self._number += 1


class _Writes(_Until):
    """Sees how often an object of logs was written."""

    def __init__(self, archive: Archive, cluster: str) -> None:
        self._archive = archive
        self._cluster = cluster
        self._begun = time.monotonic()
        self._before = archive.log_writes(cluster)
        self._seen = set(self._before)

    def step(self) -> None:
        self._seen |= self._archive.log_writes(self._cluster)

    @property
    def per_interval(self) -> float:
        intervals = round((time.monotonic() - self._begun) / _INTERVAL_S)
        return len(self._seen - self._before) / max(1, intervals)
