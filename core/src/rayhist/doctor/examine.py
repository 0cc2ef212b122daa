"""Trying on a store what its role needs.

The collector writes, reads and deletes one scratch object below `rayhist-doctor/`; the server reads what is
there.  Nothing else changes.  Each check has its time, and what fails for one right does not hide the others.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime

from rayhist import layout
from rayhist.doctor import proxies, words
from rayhist.doctor.finding import Finding, Role, State
from rayhist.errors import Denied, NotFound, RayhistError
from rayhist.storage import ObjectInfo, Store

FOLDER = "rayhist-doctor"
SAMPLE_BYTES = 8 * 1024 * 1024
LIMIT_S = 60.0
_HEADS = 10
_MAX_LISTED = 1000
_MIB = 1024 * 1024

Check = Callable[[], Awaitable[Finding]]
Report = Callable[[Finding], None]


async def examine(
    store: Store,
    role: Role,
    report: Report,
    *,
    environment: Mapping[str, str],
    sample_bytes: int = SAMPLE_BYTES,
    limit_s: float = LIMIT_S,
) -> None:
    """Report what each check came to, as it ends.  `limit_s` is for each check, in seconds."""
    examination = _Examination(store, sample_bytes)
    report(proxies.finding(environment))
    hopeless = False
    try:
        for name, check in examination.checks(role):
            if hopeless:
                report(Finding(name, State.SKIPPED, "not tried after that failure"))
                continue
            try:
                async with asyncio.timeout(limit_s):
                    report(await check())
            except TimeoutError:
                report(words.too_late(name, store.location, limit_s, environment))
                hopeless = True
            except RayhistError as error:
                report(words.of_failure(name, error, store.location, environment))
                hopeless = not isinstance(error, Denied | NotFound)
    finally:
        if left := await examination.clean_up():
            report(left)


class _Examination:
    """The checks of one run, and what they learn for those after them."""

    def __init__(self, store: Store, sample_bytes: int) -> None:
        self._store = store
        self._sample = secrets.token_bytes(sample_bytes)
        self._scratch = f"{FOLDER}/{secrets.token_hex(16)}"
        self._tried_to_write = False
        self._written = False
        self._seen: list[ObjectInfo] = []

    def checks(self, role: Role) -> list[tuple[str, Check]]:
        first = [("identity", self._identity), ("list", self._list)]
        if role is Role.SERVER:
            return [*first, ("read", self._read_any), ("clock", self._clock), ("latency", self._latency)]
        return [
            *first,
            ("write", self._write),
            ("read", self._read_back),
            ("clock", self._clock),
            ("latency", self._latency),
            ("delete", self._delete),
        ]

    async def _identity(self) -> Finding:
        return Finding("identity", State.OK, await self._store.identity() or "nobody in particular")

    async def _list(self) -> Finding:
        started = time.monotonic()
        self._seen = await self._first(f"{layout.METADATA}/")
        many = f"{len(self._seen)}{'+' if len(self._seen) >= _MAX_LISTED else ''}"
        return Finding("list", State.OK, f"{many} sessions listed in {_ms(started)}")

    async def _first(self, prefix: str) -> list[ObjectInfo]:
        found: list[ObjectInfo] = []
        async for info in self._store.list_objects(prefix):
            found.append(info)
            if len(found) >= _MAX_LISTED:
                break
        return found

    async def _write(self) -> Finding:
        self._tried_to_write = True
        started = time.monotonic()
        await self._store.put(self._scratch, self._sample)
        text = f"{self._scratch}, {_speed(len(self._sample), started)}"
        self._written = True
        return Finding("write", State.OK, text)

    async def _read_back(self) -> Finding:
        if not self._written:
            return await self._read_any()
        started = time.monotonic()
        data = await self._store.get(self._scratch)
        text = f"the same bytes, {_speed(len(data), started)}"
        if data != self._sample:
            return Finding(
                "read",
                State.FAILED,
                f"{len(data)} other bytes came back than the {len(self._sample)} that were written",
                remedy="something on the way changes what is stored: look for a proxy or a cache",
            )
        return Finding("read", State.OK, text)

    async def _read_any(self) -> Finding:
        """The largest of what is there, or else something that is not: who may not read hears so."""
        found = await self._first(f"{layout.HISTORY}/") or self._seen
        if found:
            largest = max(found, key=lambda info: info.size)
            started = time.monotonic()
            data = await self._store.get(largest.key, end=len(self._sample))
            return Finding("read", State.OK, f"{largest.key}, {_speed(len(data), started)}")
        if await self._store.exists(self._scratch):
            return Finding(
                "read",
                State.FAILED,
                f"the store says that it has {self._scratch}, which nobody wrote",
                remedy="something else answers in its place: look for a proxy",
            )
        return Finding("read", State.OK, "allowed; there is no session yet to read")

    async def _clock(self) -> Finding:
        if self._written:
            return words.of_clock(await self._skew_s())
        if ahead := words.from_the_future([info.modified for info in self._seen]):
            return ahead
        return Finding("clock", State.SKIPPED, "only who writes can compare it; no object is from the future")

    async def _skew_s(self) -> float | None:
        """Seconds by which this clock is behind the store's; its times may be in whole seconds."""
        key = f"{self._scratch}-clock"
        before = datetime.now(UTC)
        await self._store.put(key, b"")
        after = datetime.now(UTC)
        try:
            modified = (await self._store.head(key)).modified
        finally:
            with contextlib.suppress(RayhistError):
                await self._store.delete(key)
        return None if modified is None else (modified - (before + (after - before) / 2)).total_seconds()

    async def _latency(self) -> Finding:
        taken = []
        for _ in range(_HEADS):
            started = time.monotonic()
            await self._store.exists(self._scratch)
            taken.append(time.monotonic() - started)
        middle, worst = sorted(taken)[_HEADS // 2], max(taken)
        text = f"{middle * 1000:.1f} ms for a small request, {worst * 1000:.1f} ms at worst"
        return Finding("latency", State.OK, text)

    async def _delete(self) -> Finding:
        if not self._written:
            return Finding("delete", State.SKIPPED, "nothing was written")
        try:
            await self._store.delete(self._scratch)
        except Denied as error:
            return words.may_not_delete(error, self._scratch)
        self._written = self._tried_to_write = False
        return Finding("delete", State.OK, "the scratch object is gone")

    async def clean_up(self) -> Finding | None:
        """Remove the scratch object of a write that may have arrived; says so if it stays."""
        if not self._tried_to_write:
            return None
        with contextlib.suppress(RayhistError, TimeoutError):
            async with asyncio.timeout(LIMIT_S):
                await self._store.delete(self._scratch)
                return None
        if not self._written:
            return None
        return Finding(
            "left behind", State.WARNING, self._scratch, remedy="delete that object, which is the doctor's"
        )


def _ms(started: float) -> str:
    return f"{(time.monotonic() - started) * 1000:.0f} ms"


def _speed(size: int, started: float) -> str:
    seconds = max(time.monotonic() - started, 1e-6)
    return f"{size / _MIB:.1f} MiB in {seconds:.2f} s: {size / _MIB / seconds:.1f} MiB/s"
