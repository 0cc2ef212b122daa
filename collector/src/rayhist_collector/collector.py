"""A running collector: sources → spool → sinks under one task group, and the order in which it all ends."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

from rayhist.errors import ConfigError, RayhistError, Unavailable
from rayhist.ids import Cluster
from rayhist.manifest import Ending
from rayhist.source import SourceContext
from rayhist_collector.heartbeat import Heartbeat, Parts
from rayhist_collector.reporting import say
from rayhist_collector.supervise import SourceRunner

_SWEEP_SHARE = 0.5
"""The part of the shutdown budget that the last sweeps may take."""
_LAST_WORDS_S = 3.0
"""What is kept of it for the last marker and manifests."""


class Collector:
    """Made by `app.build`; runs once."""

    def __init__(
        self, parts: Parts, heartbeat: Heartbeat, runners: Sequence[SourceRunner], cluster: Cluster
    ) -> None:
        self._parts = parts
        self._heartbeat = heartbeat
        self._runners = runners
        self._cluster = cluster

    async def run(self, stop: asyncio.Event) -> None:
        """Collect until told to stop, then sweep, send and say goodbye within the shutdown budget."""
        await self._recover()
        opened = self._open_sources(needing_role=False)
        async with asyncio.TaskGroup() as group:
            shipping = group.create_task(self._parts.shipper.run())
            group.create_task(self._parts.intake.run(self._parts.config.event_interval_s))
            beating = group.create_task(self._heartbeat.run())
            starting = group.create_task(self._start_sources(opened))
            await stop.wait()
            self._parts.log.info("stopping: the last sweep", budget_s=self._parts.config.shutdown_budget_s)
            beating.cancel()
            starting.cancel()
            await self._finish(shipping)

    async def once(self) -> None:
        """Record what is there now, send it, and end."""
        await self._recover()
        await self._parts.watch.look()
        await self._heartbeat.beat()
        self._open_sources(needing_role=False)
        self._open_sources(needing_role=True)
        async with asyncio.TaskGroup() as group:
            await self._finish(group.create_task(self._parts.shipper.run()))

    async def _recover(self) -> None:
        """Take over what an earlier run left.  Raises `ConfigError` if the spool cannot be used."""
        try:
            await self._take_over()
        except (OSError, Unavailable) as error:
            raise ConfigError(
                f"the spool {self._parts.spool.root} cannot be used: {error}",
                remedy="make room or repair it, or set [collector] spool to another folder",
            ) from error

    async def _take_over(self) -> None:
        parts = self._parts
        for step in (parts.spool.recover, parts.ledger.load, parts.chronicle.load):
            await asyncio.to_thread(step)
        keys = await asyncio.to_thread(parts.spool.sealed_keys)
        parts.shipper.offer(keys)
        await parts.intake.recover()
        if keys:
            parts.log.info("files of an earlier run are sent first", files=len(keys))

    async def _start_sources(self, opened: list[SourceRunner]) -> None:
        """Start what is open, and the rest as soon as it is known beside which kind of node we stand."""
        for runner in opened:
            runner.start(self._parts.intake)
        await self._parts.watch.has_role.wait()
        try:
            for runner in self._open_sources(needing_role=True):
                runner.start(self._parts.intake)
        except RayhistError as error:
            say(self._parts.log, "a source cannot be opened; the others go on", error)

    def _open_sources(self, *, needing_role: bool) -> list[SourceRunner]:
        return [
            runner
            for runner in self._runners
            if runner.needs_role == needing_role and runner.open(self._context(runner))
        ]

    def _context(self, runner: SourceRunner) -> SourceContext:
        parts = self._parts
        return SourceContext(
            cluster=self._cluster,
            role=parts.watch.role,
            temp_dir=parts.temp_dir,
            state_dir=parts.spool.state(runner.name),
            clock=parts.clock,
            log=parts.log,
            redactor=parts.redactor,
        )

    async def _finish(self, shipping: asyncio.Task[None]) -> None:
        """Sweep while uploads go on; then seal, send the rest in a hurry, and say how it ended."""
        budget_s = self._parts.config.shutdown_budget_s
        deadline = asyncio.get_running_loop().time() + budget_s
        await self._bounded(deadline - budget_s * (1 - _SWEEP_SHARE), "sweeping", self._sweep())
        for runner in self._runners:
            await runner.stop()
        try:
            await self._parts.intake.finish()
        except Unavailable as error:
            say(self._parts.log, "the spool cannot be written", error)
        shipping.cancel()
        await asyncio.wait([shipping])
        self._parts.shipper.offer(await asyncio.to_thread(self._parts.spool.sealed_keys))
        reserve_s = min(_LAST_WORDS_S, budget_s / 4)
        await self._bounded(deadline - reserve_s, "sending", self._parts.shipper.drain())
        await self._bounded(deadline, "the last word", self._last_words())
        waiting = self._parts.shipper.waiting
        if waiting or self._parts.intake.held:
            self._parts.log.warning(
                "not everything was sent; it stays on disk for the next start",
                files=waiting,
                held=self._parts.intake.held,
                spool=str(self._parts.spool.root),
            )
        else:
            self._parts.log.info("everything was sent")

    async def _sweep(self) -> None:
        first = [runner for runner in self._runners if not runner.stops_last]
        for runner in first:
            await runner.stop()
        async with asyncio.TaskGroup() as group:
            for runner in first:
                group.create_task(runner.finish(self._parts.intake))

    async def _last_words(self) -> None:
        await self._parts.watch.look()
        keys = await self._heartbeat.beat(Ending.CLEAN)
        await self._parts.shipper.drain(keys)

    async def _bounded(self, deadline: float, what: str, work: Coroutine[Any, Any, None]) -> None:
        try:
            async with asyncio.timeout_at(deadline):
                await work
        except TimeoutError:
            self._parts.log.warning("the shutdown budget is used up", step=what)
