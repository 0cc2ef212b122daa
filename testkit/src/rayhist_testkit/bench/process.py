"""A collector of its own beside a made-up node, and what it takes of this machine (Linux)."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from rayhist.errors import RayhistError
from rayhist_testkit.cluster.environment import plain_environment
from rayhist_testkit.cluster.waiting import until

NODE = "5e" * 28
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_SAMPLE_S = 0.2
_JUST_S = 1.0
_WITHIN_S = 60.0


class BenchCollector:
    """`rayhist collect` as configured by default, with `storage` as its archive.

    Use it in a `with` block; what its node's folder is to hold at its start goes into `logs` before `start`.
    """

    def __init__(
        self, folder: Path, storage: Mapping[str, Any], session: str, *, event_interval_s: float = 30.0
    ) -> None:
        self.folder = folder
        self.spool = folder / "spool"
        self.logs = folder / "ray" / session / "logs"
        self.logs.mkdir(parents=True)
        self.peak_rss_bytes = 0
        self.peak_spool_bytes = 0
        self._lay_out()
        self._config = folder / "rayhist.json"
        self._config.write_text(json.dumps(self._configuration(storage, event_interval_s)))
        self._process: subprocess.Popen[bytes] | None = None
        self._ended = threading.Event()
        self._sampler = threading.Thread(target=self._sample, daemon=True)

    def _lay_out(self) -> None:
        """A head's folders: then nothing has to be asked, and a marker is written."""
        (self.logs.parent / f"metrics_export_port_{NODE}").write_text("1")
        (self.logs / "gcs_server.out").write_text("gcs\n")
        (self.logs / "raylet.out").write_text("raylet\n")
        (self.folder / "ray" / "session_latest").symlink_to(self.logs.parent)

    def _configuration(self, storage: Mapping[str, Any], event_interval_s: float) -> dict[str, Any]:
        collector = {
            "temp_dir": str(self.folder / "ray"),
            "spool": str(self.spool),
            "sources": ["ray-events", "log-files"],
            "source_options": {"ray-events": {"port": 0}},
            "event_interval_s": event_interval_s,
        }
        cluster = {"namespace": "bench", "name": self.folder.name}
        return {
            "storage": dict(storage),
            "cluster": cluster,
            "collector": collector,
            "log": {"format": "json"},
        }

    def __enter__(self) -> Self:
        return self

    def start(self) -> None:
        with (self.folder / "collect.log").open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603 - this environment's own interpreter
                [sys.executable, "-m", "rayhist.cli", "collect", "--config", self._config],
                env=plain_environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self._sampler.start()

    def __exit__(self, *_: object) -> None:
        if self._process is None:
            return
        if self._process.returncode is None:
            self._process.kill()
            self._process.wait()
        self._ended.set()
        self._sampler.join()

    @property
    def address(self) -> str:
        """Where it takes events, once it listens."""
        file = self.spool / "state" / "ray-events" / "address"
        until(
            lambda: self._alive() and file.exists() and file.read_text(), "the collector listens", within_s=60
        )
        return file.read_text()

    def log(self) -> str:
        return (self.folder / "collect.log").read_text(errors="replace")

    def cpu_s(self) -> float:
        """Processor time it used so far, its own and the kernel's for it."""
        fields = Path(f"/proc/{self._running.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S

    def stop(self) -> float:
        """SIGTERM; returns the processor time of its whole life once it has ended and sent everything.

        Raises `RayhistError` if it did not.
        """
        process = self._running
        process.send_signal(signal.SIGTERM)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode or "everything was sent" not in self.log():
            raise RayhistError(f"the collector did not end well: {self.log()[-2000:]}")
        return used.ru_utime + used.ru_stime

    def metric(self, name: str) -> float:
        """One of its own metrics, without labels."""
        connection = http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=_WITHIN_S)
        try:
            connection.request("GET", "/metrics")
            lines = connection.getresponse().read().decode().splitlines()
        finally:
            connection.close()
        return next(float(line.split()[1]) for line in lines if line.startswith(f"rayhist_collector_{name} "))

    @property
    def just_sealed(self) -> bool:
        """Whether next to nothing is left of the events but what is compressed, or on its way."""
        names = [path.stem for path in (self.spool / "open").glob("events~*")]
        return all(time.time() - int(name.rpartition("~")[2]) / 1e9 < _JUST_S for name in names)

    @property
    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "not started"
        return self._process

    def _alive(self) -> bool:
        if self._running.poll() is not None:
            raise RayhistError(f"the collector ended: {self.log()[-2000:]}")
        return True

    def _sample(self) -> None:
        while not self._ended.wait(_SAMPLE_S):
            try:
                self.peak_rss_bytes = max(self.peak_rss_bytes, _peak_rss(self._running.pid))
            except (OSError, StopIteration):
                return
            self.peak_spool_bytes = max(self.peak_spool_bytes, _size(self.spool))


def _peak_rss(pid: int) -> int:
    """The most that was ever resident (the kernel keeps it)."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def _size(folder: Path) -> int:
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += Path(place, name).stat().st_size
            except FileNotFoundError:
                continue
    return total


def until_quiet(collector: BenchCollector, *, still_s: float = 3.0) -> None:
    """Wait until it does next to nothing any more."""
    before, since = collector.cpu_s(), time.monotonic()
    end = time.monotonic() + _WITHIN_S
    while time.monotonic() - since < still_s and time.monotonic() < end:
        time.sleep(0.5)
        now = collector.cpu_s()
        if now - before > 0.02:
            before, since = now, time.monotonic()
