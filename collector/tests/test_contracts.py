"""The collector's plugins keep the contracts that every plugin has to keep."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from typing import Any, ClassVar

import msgspec
import pytest

from rayhist.memory import MemoryStore
from rayhist.sink import SinkContext
from rayhist.source import SourceContext
from rayhist_testkit.contracts import PluginContract, SinkContract, SourceContract
from rayhist_testkit.faults import FlakyStore
from rayhist_testkit.intake import RecordingIntake

SESSION = "session_2026-11-30_15-25-10_490256_10672"


@pytest.mark.parametrize("name", ["ray-events", "log-files", "dashboard"])
class TestSourcePlugins(PluginContract):
    role = "source"

    @pytest.fixture(autouse=True)
    def _named(self, name: str) -> None:
        self.name = name


class TestArchivePlugin(PluginContract):
    role, name = "sink", "archive"


@pytest.mark.parametrize("name", ["collect", "frontend"])
class TestCommandPlugins(PluginContract):
    role = "command"

    @pytest.fixture(autouse=True)
    def _named(self, name: str) -> None:
        self.name = name


class TestArchive(SinkContract):
    name = "archive"

    def broken_context(self) -> SinkContext:
        return msgspec.structs.replace(self.context(), store=FlakyStore(MemoryStore(), every=1))


class TestLogFiles(SourceContract):
    name = "log-files"
    options: ClassVar[dict[str, Any]] = {"interval_s": 0.05}

    async def happen(self, context: SourceContext) -> None:
        logs = context.temp_dir / SESSION / "logs"
        logs.mkdir(parents=True)
        (logs / "raylet.out").write_bytes(b"hello\n")

    def recorded(self, intake: RecordingIntake) -> bool:
        return intake.logs(SESSION) == {"raylet.out": b"hello\n"}


class TestRayEvents(SourceContract):
    name = "ray-events"
    options: ClassVar[dict[str, Any]] = {"port": 0}

    async def happen(self, context: SourceContext) -> None:
        """As Ray's exporter: the same batch, until it is answered 200."""
        address = context.state_dir / "address"
        while not address.exists():
            await asyncio.sleep(0.01)
        self._posting = asyncio.create_task(self._post(address.read_text()))

    async def _post(self, address: str) -> None:
        while await asyncio.to_thread(_status, f"{address}/v1/events") != 200:
            await asyncio.sleep(0.05)

    def recorded(self, intake: RecordingIntake) -> bool:
        return intake.lines == [b'{"a": 1}']


def _status(url: str) -> int:
    body = json.dumps([{"a": 1}]).encode()
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, data=body, method="POST"), timeout=10
        ) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


class TestDashboard(SourceContract):
    """What it records is tested against a dashboard of our own, in `test_dashboard.py`."""

    name = "dashboard"
    options: ClassVar[dict[str, Any]] = {"address": "http://127.0.0.1:1", "interval_s": 0.05}

    async def happen(self, context: SourceContext) -> None:
        pytest.skip("see test_dashboard.py")


def test_a_source_of_the_head_says_so() -> None:
    from rayhist.plugins import Plugins

    assert Plugins.discover().source("dashboard").roles == ("head",)
