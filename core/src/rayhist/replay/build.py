"""Replay a session into an index: read what the archive has, fold it, write the rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from rayhist import codec, layout, manifest
from rayhist.clock import Clock, SystemClock
from rayhist.errors import DataError, NotFound, Unavailable
from rayhist.ids import Session
from rayhist.index import IndexWriter
from rayhist.replay import exports, logevents, logs
from rayhist.replay.answers import Answers
from rayhist.replay.context import Context
from rayhist.replay.ending import decide
from rayhist.replay.fold import Fold
from rayhist.replay.folds import all_folds
from rayhist.replay.inventory import Inventory, take
from rayhist.replay.report import Progress, Report
from rayhist.replay.stream import EventReader
from rayhist.replay.threads import Threads
from rayhist.source import Answer, Published
from rayhist.storage import Store

_T = TypeVar("_T")
_SHOWN = 100
"""How many unknown objects the report names."""

__all__ = ["Progress", "Report", "replay"]


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
    report = Report(digest=inventory.digest(), unknown_objects=inventory.unknown[:_SHOWN])
    threads = Threads()
    try:
        writer = IndexWriter(path, stopped=threads.stopped)
        try:
            context = await _context(store, inventory, report, clock or SystemClock(), lost_after_s)
            progress.step = "reading logs"
            await _read_logs(store, inventory, context, writer, report)
            folds = all_folds()
            progress.step = "reading events"
            await EventReader(session, folds, report, progress, threads).run(store, inventory.events)
            progress.step = "writing"
            await threads.run(_write, folds, context, writer, report, conclude)
        except BaseException:
            writer.abandon()
            raise
    except sqlite3.Error as error:
        raise Unavailable(
            f"{path}: the index cannot be written: {error}", remedy="is the disk of the cache full?"
        ) from error
    return report


async def _read_logs(
    store: Store, inventory: Inventory, context: Context, writer: IndexWriter, report: Report
) -> None:
    """The log files come first: the folds need what some of them say."""
    await logs.index(store, inventory, writer, report.damaged)
    await logevents.index(store, writer, context.problems)
    context.exports = await exports.read(store, writer, context.problems)


def _write(
    folds: Sequence[Fold], context: Context, writer: IndexWriter, report: Report, conclude: bool
) -> None:
    writer.meta("end", context.end)
    writer.meta("concluded", conclude)
    if not conclude:
        context.end = msgspec.structs.replace(context.end, ended=False)
    if report.foreign_events:
        context.problems.append(f"{report.foreign_events} events are of another session; they are left out.")
    for fold in folds:
        fold.write(context, writer)
    writer.meta("session", context.marker)
    writer.meta("manifests", context.manifests)
    report.problems = context.problems
    writer.meta("report", report)
    writer.finish()


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
    problems = [marker.imported] if marker.imported else []
    nodes = inventory.nodes
    return Context(
        inventory.session, marker, manifests, answers, end, recorded_nodes=nodes, problems=problems
    )


async def _document(store: Store, key: str, read: Callable[[bytes, str], _T], report: Report) -> _T | None:
    try:
        return read(await store.get(key), key)
    except (DataError, NotFound) as error:
        report.damaged[key] = str(error)
        return None


async def _answers(store: Store, inventory: Inventory, report: Report) -> Answers:
    answers = Answers()
    for item in inventory.snapshots:
        for line in await _snapshots(store, item.info.key, report):
            if isinstance(line, Answer):
                answers.add(line)
            else:
                answers.date(line)
    for item in inventory.endpoints:
        assert isinstance(item.reference, layout.FetchedEndpoint)
        body = await _document(store, item.info.key, _json, report)
        if body is not None:
            at_ms = int(item.info.modified.timestamp() * 1000) if item.info.modified else 0
            answers.add_published(item.reference.endpoint, body, at_ms)
    return answers


async def _snapshots(store: Store, key: str, report: Report) -> list[Answer | Published]:
    """The lines of a snapshot file that can be read."""
    damage = codec.Damage()
    found: list[Answer | Published] = []
    try:
        for line in codec.decode(await store.get(key), damage):
            try:
                found.append(_snapshot(line))
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                damage.note(f"not an answer: {error}")
    except NotFound as error:
        damage.note(str(error))
    if damage.reason:
        report.damaged[key] = damage.reason
    return found


def _snapshot(line: bytes) -> Answer | Published:
    try:
        return msgspec.json.decode(line, type=Answer)
    except msgspec.ValidationError:
        return msgspec.json.decode(line, type=Published)


def _json(body: bytes, key: str) -> bytes:
    codec.decode_json(body, key)
    return body
