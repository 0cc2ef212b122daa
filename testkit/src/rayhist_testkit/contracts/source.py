"""What a source has to keep to: it waits, it goes on until it is cancelled, and it finishes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from rayhist.clock import SystemClock
from rayhist.ids import Cluster, ClusterKind
from rayhist.plugins import Plugins, options_of
from rayhist.source import Source, SourceContext
from rayhist_testkit.contracts.base import Contract, run
from rayhist_testkit.intake import RecordingIntake

CLUSTER = Cluster(ClusterKind.RAYCLUSTER, "contract", "cluster")
STOP_WITHIN_S = 20.0
"""Seconds a source may take to stop or to finish: a pod has thirty in all."""


class Log:
    """A logger that takes an event and keywords, as structlog's do."""

    def __init__(self) -> None:
        self._log = logging.getLogger("rayhist.contract")

    def debug(self, event: str, **details: Any) -> None:
        self._log.debug("%s %s", event, details)

    def info(self, event: str, **details: Any) -> None:
        self._log.info("%s %s", event, details)

    def warning(self, event: str, **details: Any) -> None:
        self._log.warning("%s %s", event, details)

    def error(self, event: str, **details: Any) -> None:
        self._log.error("%s %s", event, details)

    exception = error

    def bind(self, **_details: Any) -> Log:
        return self


class SourceContract(Contract):
    """Say which source: `name = "log-files"`; its options; and in `happen`, how to make it see something."""

    name: ClassVar[str]
    options: ClassVar[dict[str, Any]] = {}
    role: ClassVar[str] = "head"

    def open_source(self, context: SourceContext) -> Source:
        """The source, opened as the collector opens it."""
        kind = Plugins.discover().source(self.name)
        return kind.open(context, options_of(kind, self.options, "$.options"))

    async def happen(self, context: SourceContext) -> None:  # noqa: ARG002 - for those who override it
        """Make something happen that the source records.  Not overridden: those tests are skipped."""
        pytest.skip("`happen` is not overridden")

    def recorded(self, intake: RecordingIntake) -> bool:
        """Whether what happened has arrived; by default, whether anything has."""
        return not intake.empty

    def context(self, folder: Path) -> SourceContext:
        """A context below the test's folder; Ray's temp dir is not there yet."""
        state = folder / "state"
        state.mkdir(parents=True, exist_ok=True)
        return SourceContext(
            cluster=CLUSTER,
            role=self.role,
            temp_dir=folder / "ray",
            state_dir=state,
            clock=SystemClock(),
            log=Log(),
        )

    def test_it_waits_for_ray_and_stops_when_cancelled(self, tmp_path: Path) -> None:
        """A collector starts before Ray does, and must neither fail nor end then."""

        async def body() -> None:
            intake = RecordingIntake(tmp_path)
            source = self.open_source(self.context(tmp_path))
            async with _running(source, intake) as task:
                await asyncio.wait([task], timeout=0.5)
                assert not task.done(), "run ended by itself"
            async with asyncio.timeout(STOP_WITHIN_S):
                await source.finish(intake)

        run(body())

    def test_what_happens_is_recorded(self, tmp_path: Path) -> None:
        async def body() -> None:
            intake, context = RecordingIntake(tmp_path), self.context(tmp_path)
            source = self.open_source(context)
            async with _running(source, intake):
                await self.happen(context)
                await intake.until(lambda: self.recorded(intake))
            async with asyncio.timeout(STOP_WITHIN_S):
                await source.finish(intake)

        run(body())

    def test_what_happens_while_the_disk_is_full_is_recorded_later(self, tmp_path: Path) -> None:
        async def body() -> None:
            intake, context = RecordingIntake(tmp_path), self.context(tmp_path)
            intake.full = True
            source = self.open_source(context)
            async with _running(source, intake) as task:
                await self.happen(context)
                await asyncio.wait([task], timeout=0.5)
                assert not task.done(), "run ended, since the intake was full"
                intake.full = False
                await intake.until(lambda: self.recorded(intake))

        run(body())


@contextlib.asynccontextmanager
async def _running(source: Source, intake: RecordingIntake) -> AsyncIterator[asyncio.Task[None]]:
    """Run the source inside the block; leaving it cancels it, which must be quick."""
    task = asyncio.create_task(source.run(intake))
    try:
        yield task
    finally:
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=STOP_WITHIN_S)
        assert done, f"run did not stop within {STOP_WITHIN_S:g} s of being cancelled"
    assert task.cancelled(), f"run ended by itself: {task.exception()!r}"
