"""Replay a session into an index: read what the archive has, fold it, write the rows."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import TypeVar

import msgspec

from rayhist import codec, events, layout, manifest
from rayhist.clock import Clock, SystemClock
from rayhist.errors import DataError, NotFound
from rayhist.ids import Session
from rayhist.index import IndexWriter
from rayhist.replay import exports, logevents, logs
from rayhist.replay.answers import OK, Answers
from rayhist.replay.context import Context
from rayhist.replay.ending import decide
from rayhist.replay.fold import Fold
from rayhist.replay.folds import all_folds
from rayhist.replay.inventory import Inventory, Item, take
from rayhist.source import Answer
from rayhist.storage import Store

_READ_AHEAD = 4

_T = TypeVar("_T")


class Progress(msgspec.Struct):
    """How far a replay is: compressed bytes and events read, and the bytes there are in all."""

    total_bytes: int = 0
    bytes: int = 0
    events: int = 0
    step: str = "listing"


class Report(msgspec.Struct):
    """What a replay found: counts, and per object what could not be read."""

    digest: str = ""
    events: int = 0
    events_by_type: dict[str, int] = {}
    bad_events: int = 0
    damaged: dict[str, str] = {}
    """Key → what is wrong with the object."""
    unknown_objects: list[str] = []
    problems: list[str] = []


async def replay(
    store: Store,
    session: Session,
    path: Path,
    *,
    inventory: Inventory | None = None,
    progress: Progress | None = None,
    clock: Clock | None = None,
    lost_after_s: float = 120.0,
    conclude: bool = True,
) -> Report:
    """Build the session's index in the new file `path`, and return the report that is also stored in it.

    `inventory` is what the archive has of the session, if the caller has listed it already.  What went on
    when the session ended is shown as ended with it; without `conclude` it is shown as last seen.
    One unreadable object costs that object.  Raises `NotFound` if there is no such session, and
    `Unavailable` or `Denied` as the store does: an index of a half-read session is never written.
    """
    progress = progress or Progress()
    inventory = inventory or await take(store, session)
    progress.total_bytes = inventory.event_bytes
    report = Report(digest=inventory.digest(), unknown_objects=inventory.unknown[:100])
    writer = IndexWriter(path)
    try:
        context = await _context(store, inventory, report, clock or SystemClock(), lost_after_s)
        progress.step = "reading logs"
        await _read_logs(store, inventory, context, writer, report)
        folds = all_folds()
        progress.step = "reading events"
        await _fold_events(store, inventory.events, folds, report, progress)
        progress.step = "writing"
        await asyncio.to_thread(_write, folds, context, writer, conclude=conclude)
        report.problems = context.problems
        writer.meta("report", report)
        await asyncio.to_thread(writer.finish)
    except BaseException:
        writer.abandon()
        raise
    return report


async def _read_logs(
    store: Store, inventory: Inventory, context: Context, writer: IndexWriter, report: Report
) -> None:
    """The log files come first: the folds need what some of them say."""
    await logs.index(store, inventory, writer, report.damaged)
    await logevents.index(store, writer, context.problems)
    context.exports = await exports.read(store, writer, context.problems)


def _write(folds: Sequence[Fold], context: Context, writer: IndexWriter, *, conclude: bool) -> None:
    writer.meta("end", context.end)
    writer.meta("concluded", conclude)
    if not conclude:
        context.end = msgspec.structs.replace(context.end, ended=False)
    for fold in folds:
        fold.write(context, writer)
    writer.meta("session", context.marker)
    writer.meta("manifests", context.manifests)


async def _context(
    store: Store, inventory: Inventory, report: Report, clock: Clock, lost_after_s: float
) -> Context:
    marker = manifest.SessionMarker()
    if inventory.marker is not None:
        key = inventory.marker.key
        marker = await _document(store, key, manifest.read_marker, report) or marker
    manifests = {}
    for item in inventory.manifests:
        found = await _document(store, item.info.key, manifest.read_manifest, report)
        if found is not None:
            assert isinstance(item.reference, layout.NodeManifest)
            manifests[item.reference.node] = found
    answers = await _answers(store, inventory, report)
    end = decide(inventory, marker, manifests, clock.time_ms(), lost_after_s)
    return Context(inventory.session, marker, manifests, answers, end, recorded_nodes=inventory.nodes)


async def _document(store: Store, key: str, read: Callable[[bytes, str], _T], report: Report) -> _T | None:
    try:
        return read(await store.get(key), key)
    except (DataError, NotFound) as error:
        report.damaged[key] = str(error)
        return None


async def _answers(store: Store, inventory: Inventory, report: Report) -> Answers:
    answers = Answers()
    for item in inventory.snapshots:
        try:
            damage = codec.Damage()
            for line in codec.decode(await store.get(item.info.key), damage):
                answers.add(msgspec.json.decode(line, type=Answer))
            if damage.reason:
                report.damaged[item.info.key] = damage.reason
        except (NotFound, msgspec.MsgspecError, UnicodeDecodeError) as error:
            report.damaged[item.info.key] = str(error)
    for item in inventory.endpoints:
        assert isinstance(item.reference, layout.FetchedEndpoint)
        try:
            body = await store.get(item.info.key)
            codec.decode_json(body, item.info.key)
        except (DataError, NotFound) as error:
            report.damaged[item.info.key] = str(error)
            continue
        known = answers.good(item.reference.endpoint)
        if known is None or bytes(known.body) != body:  # a snapshot knows better when it was fetched
            at_ms = int(item.info.modified.timestamp() * 1000) if item.info.modified else 0
            answers.add(Answer(item.reference.endpoint, at_ms, OK, msgspec.Raw(body)))
    return answers


async def _fold_events(
    store: Store, items: Sequence[Item], folds: Sequence[Fold], report: Report, progress: Progress
) -> None:
    wanted = {kind: fold for fold in folds for kind in fold.types}
    async with contextlib.aclosing(_bodies(store, items, report)) as bodies:
        async for item, body in bodies:
            await asyncio.to_thread(_fold_file, item, body, wanted, report, progress)
            progress.bytes += item.info.size


async def _bodies(
    store: Store, items: Sequence[Item], report: Report
) -> AsyncGenerator[tuple[Item, bytes], None]:
    """Fetch the objects in order, a few ahead of the reader."""
    waiting: deque[tuple[Item, asyncio.Task[bytes]]] = deque()
    rest = iter(items)
    try:
        while True:
            for item in islice(rest, _READ_AHEAD - len(waiting)):
                waiting.append((item, asyncio.create_task(store.get(item.info.key))))
            if not waiting:
                return
            item, task = waiting.popleft()
            body = await _taken(task, item, report)
            if body is not None:
                yield item, body
    finally:
        for _, task in waiting:
            task.cancel()
        await asyncio.gather(*(task for _, task in waiting), return_exceptions=True)


async def _taken(task: asyncio.Task[bytes], item: Item, report: Report) -> bytes | None:
    try:
        return await task
    except (DataError, NotFound) as error:
        report.damaged[item.info.key] = str(error)
        return None


def _fold_file(item: Item, body: bytes, wanted: dict[str, Fold], report: Report, progress: Progress) -> None:
    damage = codec.Damage()
    for line in codec.decode(body, damage):
        try:
            event = events.decode(line)
            fold = wanted.get(event.event_type)
            if fold is not None:
                fold.add(event)
        except DataError as error:
            report.bad_events += 1
            report.damaged.setdefault(item.info.key, str(error))
            continue
        report.events += 1
        progress.events += 1
        report.events_by_type[event.event_type] = report.events_by_type.get(event.event_type, 0) + 1
    if damage.reason:
        report.damaged[item.info.key] = damage.reason
