"""What a sink has to keep to: a delivered file is durable, and delivering it again is harmless."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from rayhist import layout
from rayhist.clock import SystemClock
from rayhist.errors import Unavailable
from rayhist.ids import Cluster, ClusterKind, Session
from rayhist.memory import MemoryStore
from rayhist.plugins import Plugins, options_of
from rayhist.sink import Sealed, Sink, SinkContext
from rayhist_testkit.contracts.base import Contract, run
from rayhist_testkit.contracts.stores import failure

CLUSTER = Cluster(ClusterKind.RAYCLUSTER, "contract", "cluster")
SESSION = Session(CLUSTER, "session_2026-01-02_03-04-05_678901_1")
NODE = "ab" * 28


class SinkContract(Contract):
    """Say which sink: `name = "archive"`; its options; and if it is not the archive, how to read it back."""

    name: ClassVar[str]
    options: ClassVar[dict[str, Any]] = {}
    keeps_files: ClassVar[bool] = True
    """Whether every file can be read back.  False for a sink that looks into files and tells somebody."""

    def open_sink(self, context: SinkContext) -> Sink:
        """The sink, opened as the collector opens it."""
        kind = Plugins.discover().sink(self.name)
        return kind.open(context, options_of(kind, self.options, "$.options"))

    def context(self) -> SinkContext:
        return SinkContext(cluster=CLUSTER, store=MemoryStore(), clock=SystemClock())

    def broken_context(self) -> SinkContext | None:
        """A context in which nothing can be delivered for now.  `None` skips that test."""
        return None

    async def delivered(self, context: SinkContext, key: str) -> bytes:
        """What arrived under a key; by default, in the store of the context."""
        return await context.store.get(key)

    def test_a_delivered_file_is_durable(self, tmp_path: Path) -> None:
        """It may be deleted as soon as `deliver` has returned."""
        self._deliver(tmp_path, [b"first", b"", b"third" * 1000])

    @pytest.mark.rayhist_slow
    def test_a_large_file_is_delivered(self, tmp_path: Path) -> None:
        self._deliver(tmp_path, [bytes(range(256)) * 65536])

    def test_delivering_twice_is_harmless(self, tmp_path: Path) -> None:
        """After a crash the collector does not know whether a file has arrived."""

        async def body() -> None:
            context = self.context()
            async with self._opened(context) as sink:
                sealed = _sealed(tmp_path, 1, b"data")
                await sink.deliver(sealed)
                await sink.deliver(sealed)
                await asyncio.gather(sink.deliver(sealed), sink.deliver(sealed))
                await self._arrived(context, sealed.key, b"data")

        run(body())

    def test_a_cancelled_delivery_can_be_repeated(self, tmp_path: Path) -> None:
        async def body() -> None:
            context, data = self.context(), b"data" * 100_000
            async with self._opened(context) as sink:
                sealed = _sealed(tmp_path, 1, data)
                for turns in (0, 1, 2, 10):
                    task = asyncio.create_task(sink.deliver(sealed))
                    for _ in range(turns):
                        await asyncio.sleep(0)
                    task.cancel()
                    await asyncio.wait([task])
                await sink.deliver(sealed)
                await self._arrived(context, sealed.key, data)

        run(body())

    def test_an_outage_is_unavailable(self, tmp_path: Path) -> None:
        """The collector keeps the file, and comes again."""
        context = self.broken_context()
        if context is None:
            pytest.skip("`broken_context` is not overridden")

        async def body() -> None:
            async with self._opened(context) as sink:
                await failure(sink.deliver(_sealed(tmp_path, 1, b"data")), Unavailable, "deliver")

        run(body())

    def _deliver(self, folder: Path, bodies: list[bytes]) -> None:
        async def body() -> None:
            context = self.context()
            async with self._opened(context) as sink:
                sealed = [_sealed(folder, number, data) for number, data in enumerate(bodies)]
                await asyncio.gather(*map(sink.deliver, sealed))
                for one, data in zip(sealed, bodies, strict=True):
                    one.path.unlink(missing_ok=True)
                    await self._arrived(context, one.key, data)

        run(body())

    async def _arrived(self, context: SinkContext, key: str, data: bytes) -> None:
        if self.keeps_files:
            assert await self.delivered(context, key) == data

    @contextlib.asynccontextmanager
    async def _opened(self, context: SinkContext) -> AsyncIterator[Sink]:
        sink = self.open_sink(context)
        try:
            yield sink
        finally:
            await sink.close()


def _sealed(folder: Path, number: int, data: bytes) -> Sealed:
    path = folder / f"{number}.zip"
    path.write_bytes(data)
    key = layout.key(layout.LogPack(SESSION, NODE, first_ms=1_767_323_045_678, sequence=number))
    return Sealed(key=key, path=path, size=len(data))
