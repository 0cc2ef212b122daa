"""A collector within the test's process: what it says while Ray is silent, dead, or nameless."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rayhist import layout
from rayhist.clock import Clock
from rayhist.config import ClusterSection, Collector, Config, Storage
from rayhist.ids import Cluster, Session
from rayhist.manifest import NodeManifest, SessionMarker
from rayhist.plugins import Plugins
from rayhist_collector import app
from rayhist_testkit.contracts.source import Log

SESSION = "session_2026-11-30_15-25-10_490256_10672"
NODE = "14b8ed7feb82b6199f6c08539de26a4ef141b30849983bbe4bb42790"


class Fast(Clock):
    """A second takes a few milliseconds, so that minutes can pass."""

    def __init__(self) -> None:
        self._skipped = 0.0

    def time_ns(self) -> int:
        return time.time_ns() + int(self._skipped * 1e9)

    def monotonic(self) -> float:
        return time.monotonic() + self._skipped

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(min(seconds, 0.01))
        self._skipped += seconds


class Running:
    """A collector that runs, its archive, and its parts."""

    def __init__(self, collector: Any, archive: Path, cluster: Cluster) -> None:
        self.parts = collector._parts
        self._archive = archive
        self._cluster = cluster

    def marker(self, session: str = SESSION) -> SessionMarker | None:
        return self._read(layout.Marker(Session(self._cluster, session)), SessionMarker)

    def manifest(self, session: str = SESSION, node: str = NODE) -> NodeManifest | None:
        return self._read(layout.NodeManifest(Session(self._cluster, session), node), NodeManifest)

    def _read(self, reference: Any, kind: Any) -> Any:
        path = self._archive / layout.key(reference)
        return msgspec.json.decode(path.read_bytes(), type=kind) if path.exists() else None

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(30):
            while not condition():
                await asyncio.sleep(0.01)


Collect = Callable[..., Any]


@pytest.fixture
def collecting(tmp_path: Path, ray_folder: Any, cluster: Cluster) -> Collect:
    @asynccontextmanager
    async def run(**options: Any) -> AsyncIterator[Running]:
        archive = tmp_path / "archive"
        config = Config(
            storage=Storage(url=archive.as_uri(), options={"fsync": False}),
            cluster=ClusterSection(namespace="ns", name="c"),
            collector=Collector(
                **{
                    "temp_dir": str(ray_folder.root),
                    "spool": str(tmp_path / "spool"),
                    "source_options": {"ray-events": {"port": 0}},
                    "sources": ("ray-events", "log-files"),
                    "fsync": "never",
                    **options,
                }
            ),
        )
        stop = asyncio.Event()
        async with AsyncExitStack() as stack:
            collector = await app.build(config, Plugins.discover(), Log(), stack, Fast())
            task = asyncio.create_task(collector.run(stop))
            try:
                yield Running(collector, archive, cluster)
            finally:
                stop.set()
                await task

    return run


def test_silence_from_ray_is_said_in_the_manifest_and_ends_with_the_first_event(
    ray_folder: Any, collecting: Collect, make_event: Callable[..., Any]
) -> None:
    """A head always reports itself; if nothing comes, it was started without the settings."""
    logs = ray_folder.session()

    async def body() -> None:
        async with collecting() as running:
            await running.until(lambda: (made := running.manifest()) and made.warnings)
            assert "--print-ray-env" in running.manifest().warnings[0]
            await running.parts.intake.events([json.dumps(make_event(1)).encode()])
            await running.until(lambda: not running.manifest().warnings)

    asyncio.run(body())
    assert logs.exists()


def test_an_idle_worker_is_not_accused_of_silence(ray_folder: Any, collecting: Collect) -> None:
    logs = ray_folder.session(head=False)

    async def body() -> None:
        async with collecting() as running:
            await running.until(lambda: running.parts.clock.monotonic() - running.parts.watch.since > 200)
            assert running.manifest().warnings == []
            (logs / "worker-aa-01000000-1.out").write_text(":job_id:01000000\n")
            await running.until(lambda: running.manifest().warnings)

    asyncio.run(body())


def test_a_dead_ray_is_not_kept_alive_by_its_collector(ray_folder: Any, collecting: Collect) -> None:
    """Its logs stand still: after a minute the marker's last sign of life does, too."""
    ray_folder.session()

    async def body() -> None:
        async with collecting() as running:
            await running.until(lambda: running.marker() and running.manifest())
            await running.until(lambda: running.parts.clock.monotonic() - running.parts.watch.since > 300)
            last = running.marker().last_seen_ms
            await running.until(lambda: running.parts.clock.monotonic() - running.parts.watch.since > 600)
            assert running.marker().last_seen_ms == last
            assert running.parts.clock.time_ms() - last > 200_000

    asyncio.run(body())


def test_events_of_a_nameless_node_wait_on_disk_and_that_is_said(
    ray_folder: Any, collecting: Collect, make_event: Callable[..., Any]
) -> None:
    """Ray 2.53 names no reporting node in its events; here its folder does not tell either, at first."""
    ray_folder.session(node="")

    async def body() -> None:
        async with collecting() as running:
            await running.until(lambda: running.parts.watch.current)
            await running.parts.intake.events([json.dumps(make_event(1, nodeId="")).encode()])
            await running.until(lambda: running.parts.intake.held)
            assert running.manifest() is None
            (ray_folder.root / SESSION / f"metrics_export_port_{NODE}").touch()
            await running.until(lambda: (made := running.manifest()) and made.events)
            assert running.parts.intake.held == 0

    asyncio.run(body())


def test_a_source_that_fails_is_started_again_and_the_others_go_on(
    ray_folder: Any, collecting: Collect, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rayhist_collector.sources import log_files

    ray_folder.session()
    failures = []

    def scan(folder: Path) -> Any:
        if len(failures) < 3:
            failures.append(folder)
            raise ZeroDivisionError
        return original(folder)

    original = log_files.scan
    monkeypatch.setattr(log_files, "scan", scan)

    async def body() -> None:
        async with collecting() as running:
            await running.until(lambda: (made := running.manifest()) and "raylet.out" in made.logs)

    asyncio.run(body())
    assert len(failures) == 3


def test_a_session_left_on_disk_is_listed_with_its_own_end(ray_folder: Any, collecting: Collect) -> None:
    old = "session_2026-11-29_09-00-00_000001_10"
    logs = ray_folder.session(old, node="ab" * 28)
    end_s = 1_795_945_000
    for path in (*logs.iterdir(), logs, *logs.parent.iterdir()):
        os.utime(path, (end_s, end_s))
    ray_folder.session()

    async def body() -> None:
        async with collecting() as running:
            await running.until(lambda: running.marker(old))
            assert (running.marker(old).ending, running.marker(old).end_ms) == ("replaced", end_s * 1000)
            await running.until(lambda: running.manifest(old, "ab" * 28))

    asyncio.run(body())
