"""A replay reads what the archive has, names what it cannot read, and leaves nothing half-done behind."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rayhist import codec, layout
from rayhist.errors import Denied, NotFound, RayhistError, Unavailable
from rayhist.events import Event
from rayhist.ids import Session
from rayhist.index import Index
from rayhist.memory import MemoryStore
from rayhist.query import Query, run
from rayhist.replay import Progress, replay
from rayhist.replay import build as build_module
from rayhist.replay.build import Report
from rayhist.replay.context import Context
from rayhist.replay.fold import Fold
from rayhist.replay.inventory import take
from rayhist.replay.threads import Threads
from rayhist.resources import TASKS
from rayhist.source import Answer, Published, digest_of
from rayhist.storage import ObjectInfo
from rayhist_testkit import generator

SHAPE = generator.Shape(tasks=40, jobs=3, nodes=2, workers=3)
TASK_ROWS = 40
"""Of 40 tasks none is the fiftieth, so each has one attempt."""


class Archive(MemoryStore):
    """A store in memory in which each object can be made to fail."""

    def __init__(self) -> None:
        super().__init__()
        self.failing: dict[str, RayhistError] = {}
        self.fetched: list[str] = []

    async def get(self, key: str, *, start: int = 0, end: int | None = None) -> bytes:
        self.fetched.append(key)
        if key in self.failing:
            raise self.failing[key]
        return await super().get(key, start=start, end=end)


async def _filled() -> tuple[Archive, Session, list[str]]:
    """An archive with a session, and the keys of its event files, one with definitions of tasks last."""
    store = Archive()
    session = await generator.lay_out(store, SHAPE)
    keys = [item.info.key for item in (await take(store, session)).events]
    defines = [
        key for key in keys if b"TASK_DEF" in b"".join(codec.decode(await store.get(key), codec.Damage()))
    ]
    store.fetched.clear()
    return store, session, [*(key for key in keys if key != defines[0]), defines[0]]


def _replayed(
    tmp_path: Path, damage: Callable[[Archive, Session, list[str]], Coroutine[Any, Any, None]]
) -> tuple[Report, int, list[str]]:
    """Damage the archive and replay it: the report, how many tasks there are, and the event files' keys."""

    async def work() -> tuple[Report, list[str]]:
        store, session, keys = await _filled()
        await damage(store, session, keys)
        return await replay(store, session, tmp_path / "index.sqlite"), keys

    report, keys = asyncio.run(work())
    index = Index(tmp_path / "index.sqlite")
    assert msgspec.convert(index.meta("report"), Report) == report
    return report, run(index, TASKS, Query()).total, keys


def test_a_whole_archive_is_replayed_whole(tmp_path: Path) -> None:
    async def nothing(*_: object) -> None: ...

    report, tasks, _ = _replayed(tmp_path, nothing)

    assert (tasks, report.bad_events, report.foreign_events, report.damaged) == (TASK_ROWS, 0, 0, {})
    assert report.events == sum(report.events_by_type.values()) == len(list(generator.events(SHAPE)))


def test_an_object_that_went_between_listing_and_reading_costs_that_object(tmp_path: Path) -> None:
    """As when the collector rolls small files up into a large one."""

    async def rolled_up(store: Archive, _: Session, keys: list[str]) -> None:
        store.failing[keys[-1]] = NotFound(f"{keys[-1]}: no such object")

    report, tasks, keys = _replayed(tmp_path, rolled_up)

    assert list(report.damaged) == [keys[-1]]
    assert "no such object" in report.damaged[keys[-1]]
    assert 0 < tasks < TASK_ROWS


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x1f\x8bnot gzip", "gzip"),
        (b"\x00\x01\x02\n\xff\xfe\n", "not an event"),
        (
            b'{"eventType":"TASK_LIFECYCLE_EVENT","taskLifecycleEvent":{"taskId":"?"}}\n',
            "not a base64 task id",
        ),
        (b"<html>502 Bad Gateway</html>\n", "not an event"),
    ],
)
def test_a_corrupt_object_costs_that_object_and_is_named(tmp_path: Path, content: bytes, words: str) -> None:
    async def corrupt(store: Archive, _: Session, keys: list[str]) -> None:
        await store.put(keys[-1], content)

    report, tasks, keys = _replayed(tmp_path, corrupt)

    assert list(report.damaged) == [keys[-1]]
    assert words in report.damaged[keys[-1]]
    assert 0 < tasks < TASK_ROWS


def test_a_bad_line_costs_that_line(tmp_path: Path) -> None:
    async def spoil(store: Archive, _: Session, keys: list[str]) -> None:
        for key in keys:
            lines = list(codec.decode(await store.get(key), codec.Damage()))
            await store.put(key, codec.encode([b"{torn", *lines, b'{"eventType":7}']))

    report, tasks, keys = _replayed(tmp_path, spoil)

    assert tasks == TASK_ROWS
    assert report.bad_events == 2 * len(keys)
    assert sorted(report.damaged) == sorted(keys)


def test_events_of_another_session_are_left_out_and_counted(tmp_path: Path) -> None:
    """KubeRay's collector files a restarted worker's events under the session it knew."""

    async def mix(store: Archive, _: Session, keys: list[str]) -> None:
        own = generator.SESSION_NAME.encode()
        lines = list(codec.decode(await store.get(keys[0]), codec.Damage()))
        others = [line.replace(own, b"session_2025-01-02_03-04-05_000006_7") for line in lines]
        await store.put(keys[0], codec.encode([*others, *lines]))

    report, tasks, _ = _replayed(tmp_path, mix)

    assert tasks == TASK_ROWS
    assert report.foreign_events > 0
    assert f"{report.foreign_events} events are of another session; they are left out." in report.problems


def test_a_bad_line_of_a_snapshot_file_costs_that_line(tmp_path: Path) -> None:
    async def add(store: Archive, session: Session, _: list[str]) -> None:
        good = b'{"endpoint":"/timezone","fetched_at":5,"status":200,"body":{"value":"UTC"}}'
        key = layout.key(layout.SnapshotFile(session, 1, 0))
        await store.put(key, codec.encode([b"{torn", good, b"7"]))
        await store.put(layout.key(layout.FetchedEndpoint(session, "/cluster_id")), b"<html>")

    report, tasks, _ = _replayed(tmp_path, add)
    index = Index(tmp_path / "index.sqlite")
    answer = msgspec.json.decode(index.document("answer", "/timezone") or b"")

    assert tasks == TASK_ROWS
    assert answer["body"] == {"value": "UTC"}
    assert [key.rpartition("/")[2] for key in sorted(report.damaged)] == [
        "restful__cluster_id",
        "0000000000001-000000.jsonl.gz",
    ]


@pytest.mark.parametrize(("published_at", "expected"), [(4, "later"), (6, "last")], ids=["stale", "newest"])
def test_a_published_answer_is_as_old_as_the_history_says(
    tmp_path: Path, published_at: int, expected: str
) -> None:
    """Whenever its object was written: copying an archive makes every object new."""

    async def add(store: Archive, session: Session, _: list[str]) -> None:
        body = b'{"value":"last"}'
        dated = Published("/timezone", published_at, digest_of(body))
        later = Answer("/timezone", 5, 200, msgspec.Raw(b'{"value":"later"}'))
        key = layout.key(layout.SnapshotFile(session, 1, 0))
        await store.put(key, codec.encode([msgspec.json.encode(dated), msgspec.json.encode(later)]))
        await store.put(layout.key(layout.FetchedEndpoint(session, "/timezone")), body)

    report, _, _ = _replayed(tmp_path, add)
    answer = msgspec.json.decode(Index(tmp_path / "index.sqlite").document("answer", "/timezone") or b"")

    assert answer["body"] == {"value": expected}
    assert report.damaged == {}


@pytest.mark.parametrize("error", [Unavailable("the store is down"), Denied("no")], ids=["down", "denied"])
def test_a_store_that_fails_fails_the_replay_and_leaves_no_index(tmp_path: Path, error: RayhistError) -> None:
    """An index of a half-read session is never written: an outage is no empty answer."""

    async def work() -> None:
        store, session, keys = await _filled()
        store.failing[keys[1]] = error
        with pytest.raises(type(error)):
            await replay(store, session, tmp_path / "index.sqlite")

    asyncio.run(work())
    assert list(tmp_path.iterdir()) == []


def test_a_session_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    async def work() -> None:
        with pytest.raises(NotFound, match=generator.SESSION_NAME):
            await replay(
                Archive(), Session(generator.CLUSTER, generator.SESSION_NAME), tmp_path / "index.sqlite"
            )

    asyncio.run(work())
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_cannot_be_written_is_named_with_its_remedy(tmp_path: Path) -> None:
    async def work() -> None:
        store, session, _ = await _filled()
        with pytest.raises(Unavailable, match="cannot be written") as failed:
            await replay(store, session, tmp_path / "no" / "folder" / "index.sqlite")
        assert failed.value.remedy

    asyncio.run(work())


def test_progress_tells_the_bytes_and_events_that_were_read(tmp_path: Path) -> None:
    progress = Progress()

    async def work() -> list[ObjectInfo]:
        store, session, _ = await _filled()
        await replay(store, session, tmp_path / "index.sqlite", progress=progress)
        return [item.info for item in (await take(store, session)).events]

    infos = asyncio.run(work())
    assert progress.bytes == progress.total_bytes == sum(info.size for info in infos)
    assert progress.events == len(list(generator.events(SHAPE)))


class _Waiting(Fold):
    """A fold whose writing waits until it is told to go on."""

    types = frozenset[str]()

    def __init__(self) -> None:
        self.begun, self.go_on, self.ended = threading.Event(), threading.Event(), threading.Event()

    def add(self, event: Event) -> None:
        raise AssertionError(event)

    def write(self, context: Context, writer: Any) -> None:
        self.begun.set()
        self.go_on.wait(30)
        try:
            writer.rows(TASKS, ({} for _ in iter(int, 1)))  # endless
        finally:
            self.ended.set()


def test_a_cancelled_replay_ends_its_thread_before_it_lets_go_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fold = _Waiting()
    monkeypatch.setattr(build_module, "all_folds", lambda: [fold])

    async def work() -> None:
        store, session, _ = await _filled()
        running = asyncio.create_task(replay(store, session, tmp_path / "index.sqlite"))
        await asyncio.to_thread(fold.begun.wait, 30)
        running.cancel()
        await asyncio.sleep(0)
        running.cancel()  # an impatient caller changes nothing
        await asyncio.sleep(0)
        assert not running.done()
        fold.go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert fold.ended.is_set()

    asyncio.run(work())
    assert list(tmp_path.iterdir()) == []


def test_what_a_thread_raises_reaches_who_waits_for_it() -> None:
    def fail() -> None:
        raise sqlite3.OperationalError("full")

    async def work() -> None:
        threads = Threads()
        assert await threads.run(max, 1, 2) == 2
        with pytest.raises(sqlite3.OperationalError, match="full"):
            await threads.run(fail)
        assert not threads.stopped()

    asyncio.run(work())


def test_objects_are_fetched_a_few_ahead_and_no_further(tmp_path: Path) -> None:
    """So that a session of any size is read in bounded memory."""

    async def work() -> None:
        store, session, keys = await _filled()
        in_order = sorted(keys)
        store.failing[in_order[0]] = Unavailable("down")
        with pytest.raises(Unavailable):
            await replay(store, session, tmp_path / "index.sqlite")
        assert set(store.fetched) & set(keys) == set(in_order[:4])

    asyncio.run(work())
