"""A Ray temp dir without Ray, a clock that does not wait, and a real collector process."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rayhist.clock import Clock
from rayhist.ids import Cluster, ClusterKind
from rayhist_collector.spool import Spool

SESSION = "session_2026-11-30_15-25-10_490256_10672"
NODE = "14b8ed7feb82b6199f6c08539de26a4ef141b30849983bbe4bb42790"
JOB = "01000000"


class InstantClock(Clock):
    """Sleeping costs no time, but moves it on."""

    def __init__(self, now_s: float = 1_796_052_310.0) -> None:
        self.now_s = now_s

    def time_ns(self) -> int:
        return int(self.now_s * 1e9)

    def monotonic(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)
        self.now_s += seconds


class RayFolder:
    """A `--temp-dir` with sessions as Ray lays them out."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def session(
        self, name: str = SESSION, *, node: str = NODE, head: bool = True, latest: bool = True
    ) -> Path:
        """Make a session's folder and return its `logs/`."""
        folder = self.root / name
        logs = folder / "logs"
        logs.mkdir(parents=True)
        if node:
            (folder / f"metrics_export_port_{node}").write_text("1234")
        if head:
            (logs / "gcs_server.out").write_text("gcs\n")
        (logs / "raylet.out").write_text("raylet\n")
        if latest:
            self.turn_to(name)
        return logs

    def turn_to(self, name: str) -> None:
        link = self.root / "session_latest"
        link.unlink(missing_ok=True)
        link.symlink_to(self.root / name)


class Process:
    """A `rayhist collect` of its own, with a `file` archive; `stop` and `kill` return its log."""

    def __init__(self, folder: Path, config: dict[str, Any]) -> None:
        self.folder = folder
        self.archive = folder / "archive"
        self.spool = folder / "spool"
        self.temp_dir = folder / "ray"
        self.log_path = folder / "collect.log"
        self._config = folder / "rayhist.json"
        collector: dict[str, Any] = {
            "temp_dir": str(self.temp_dir),
            "spool": str(self.spool),
            "sources": ["ray-events", "log-files"],
            "source_options": {"ray-events": {"port": 0}, "log-files": {"interval_s": 0.2}},
            "event_interval_s": 0.2,
            "heartbeat_interval_s": 0.5,
            **config,
        }
        document = {
            "storage": {"url": self.archive.as_uri()},
            "cluster": {"namespace": "ns", "name": "c"},
            "collector": collector,
            "log": {"format": "json"},
        }
        self._config.write_text(json.dumps(document))
        self._process: subprocess.Popen[bytes] | None = None
        self._known_address = ""

    def start(self, *arguments: str, **environment: str) -> None:
        self._begin(["--config", str(self._config), *arguments], environment)

    def start_operated(self, **environment: str) -> None:
        """With KubeRay's variables instead of a file."""
        self._begin([], environment)

    def _begin(self, arguments: list[str], environment: dict[str, str]) -> None:
        if self._process is not None:
            self._address_file.unlink(missing_ok=True)
            self._known_address = ""
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "rayhist.cli", "collect", *arguments],
                stdout=log,
                stderr=log,
                env=clean_environment() | environment,
            )

    @property
    def _address_file(self) -> Path:
        return self.spool / "state" / "ray-events" / "address"

    @property
    def address(self) -> str:
        if not self._known_address:
            path = self._address_file
            until(lambda: path.exists() and bool(path.read_text()), "the collector listens", self.log)
            self._known_address = path.read_text()
        return self._known_address

    def post(self, body: bytes, path: str = "/v1/events") -> int:
        request = urllib.request.Request(self.address + path, data=body, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=20) as response:
                return int(response.status)
        except urllib.error.HTTPError as error:
            error.close()
            return error.code

    def get(self, path: str) -> str:
        with urllib.request.urlopen(self.address + path, timeout=20) as response:
            return str(response.read().decode())

    def wait(self) -> int:
        assert self._process is not None
        return self._process.wait(timeout=40)

    def stop(self) -> int:
        """SIGTERM, as a pod gets; returns the exit status."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self.wait()

    def kill(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def log(self) -> str:
        return self.log_path.read_text(errors="replace")

    def objects(self) -> dict[str, bytes]:
        """Everything in the archive, by key."""
        found = {}
        for path in self.archive.rglob("*"):
            with contextlib.suppress(FileNotFoundError):
                if path.is_file() and not path.name.startswith(".rayhist-part-"):
                    found[path.relative_to(self.archive).as_posix()] = path.read_bytes()
        return found


def clean_environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith("RAY")}


def until(condition: Callable[[], object], what: str, explain: Callable[[], str] = str) -> None:
    """Wait until the condition holds, for half a minute at most."""
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, f"never happened: {what}\n{explain()}"
        time.sleep(0.02)


def event(number: int, kind: str = "TASK_LIFECYCLE_EVENT", **fields: Any) -> dict[str, Any]:
    """An event as Ray posts it."""
    name, *others = kind.removesuffix("_EVENT").split("_")
    payload = name.lower() + "".join(other.title() for other in others) + "Event"
    made = {
        "eventId": base64.b64encode(f"event-{number:08d}".encode()).decode(),
        "sourceType": "CORE_WORKER",
        "eventType": kind,
        "timestamp": "2026-11-30T15:25:13.437130920Z",
        "severity": "INFO",
        "message": "",
        "sessionName": SESSION,
        "nodeId": base64.b64encode(bytes.fromhex(NODE)).decode(),
        payload: {"jobId": base64.b64encode(bytes.fromhex(JOB)).decode(), "taskAttempt": number},
    }
    return made | fields


@pytest.fixture
def clock() -> InstantClock:
    return InstantClock()


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(ClusterKind.RAYCLUSTER, "ns", "c")


@pytest.fixture
def ray_folder(tmp_path: Path) -> RayFolder:
    (tmp_path / "ray").mkdir()
    return RayFolder(tmp_path / "ray")


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    made = Spool(tmp_path / "spool", fsync=False)
    made.recover()
    yield made
    made.release()


@pytest.fixture
def make_event() -> Callable[..., dict[str, Any]]:
    return event


@pytest.fixture
def wait_until() -> Callable[..., None]:
    return until


@pytest.fixture
def make_process(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    made: list[Process] = []

    def make(folder: Path = tmp_path, **config: Any) -> Process:
        folder.mkdir(exist_ok=True)
        made.append(Process(folder, config))
        return made[-1]

    yield make
    for process in made:
        process.kill()
