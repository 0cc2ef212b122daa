"""Running one source: opened when its turn comes, started again when it fails, swept at the end."""

from __future__ import annotations

import asyncio
import contextlib

from rayhist.config import Collector
from rayhist.errors import RayhistError
from rayhist.kinds import SourceKind
from rayhist.plugins import options_of
from rayhist.source import Intake, Source, SourceContext
from rayhist_collector.backoff import Backoff
from rayhist_collector.reporting import say

_BOTH = {"head", "worker"}


class SourceRunner:
    """One configured source.  Raises `ConfigError` if its options are wrong."""

    def __init__(self, kind: SourceKind, config: Collector) -> None:
        self.name = kind.name
        self._kind = kind
        given = config.source_options.get(kind.name, {})
        self._options = options_of(kind, given, f"$.collector.source_options.{kind.name}")
        self._source: Source | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def needs_role(self) -> bool:
        """Whether it has to be known first beside which kind of node we stand."""
        return not set(self._kind.roles) >= _BOTH

    @property
    def stops_last(self) -> bool:
        return self._source is not None and self._source.stops_last

    def open(self, context: SourceContext) -> bool:
        """Open the source, if this is a node for it."""
        if context.role not in self._kind.roles and self.needs_role:
            return False
        self._log = context.log
        self._clock = context.clock
        self._source = self._kind.open(context, self._options)
        return True

    def start(self, intake: Intake) -> None:
        self._task = asyncio.create_task(self._supervise(intake), name=self.name)

    async def _supervise(self, intake: Intake) -> None:
        """A source that fails must not take the others with it, nor make Ray's pod unready."""
        assert self._source is not None
        backoff = Backoff(first_s=1.0, most_s=60.0)
        while True:
            started = self._clock.monotonic()
            try:
                await self._source.run(intake)
            except RayhistError as error:
                say(self._log, "a source stopped", error, source=self.name)
            except Exception:  # noqa: BLE001 - whatever a plugin does wrong
                self._log.exception("a source failed", source=self.name)
            if self._clock.monotonic() - started > 60.0:
                backoff.succeeded()
            await self._clock.sleep(backoff.failed())

    async def stop(self) -> None:
        """End its work; what it was doing is finished or undone by the source itself."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def finish(self, intake: Intake) -> None:
        """Its last sweep; a failure is logged."""
        if self._source is None:
            return
        try:
            await self._source.finish(intake)
        except RayhistError as error:
            say(self._log, "a last sweep failed", error, source=self.name)
        except Exception:  # noqa: BLE001 - whatever a plugin does wrong
            self._log.exception("a last sweep failed", source=self.name)
