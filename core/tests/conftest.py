"""Recordings of real Ray, replayed once for all tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rayhist import layout
from rayhist.index import Index, IndexWriter
from rayhist.memory import MemoryStore
from rayhist.query import Query, run
from rayhist.replay import replay
from rayhist.replay.exports import WANTED
from rayhist.resources import RESOURCES, Resource
from rayhist_testkit.recordings import END, RAY_2_60, RecordedAnswer, Recording, lay_out

LogFiles = list[tuple[str, str, bytes]]
"""Node, path below `logs/`, content."""


class Replayed:
    """A moment of the Ray 2.60 recording, replayed; and what the dashboard answered then."""

    def __init__(self, recording: Recording, moment: str, index: Index) -> None:
        self.recording = recording
        self.moment = moment
        self.index = index

    def rows(self, resource: Resource) -> dict[str, Any]:
        """By what the resource is sorted by."""
        [name] = resource.order
        page = run(self.index, resource, Query(limit=10_000, detail=True))
        return {row[name]: row for row in map(msgspec.json.decode, page.rows)}

    def documents(self, kind: str) -> dict[str, Any]:
        return {identifier: msgspec.json.decode(body) for identifier, body in self.index.documents(kind)}

    @cached_property
    def _answers(self) -> dict[str, RecordedAnswer]:
        """By path; of two answers, the one that no browser asked for, and so is not redacted."""
        answers = self.recording.answers(self.moment)
        return {
            one.path: one for one in sorted(answers, key=lambda one: not one.browser) if one.method == "GET"
        }

    def live(self, path: str) -> Any:
        """The dashboard's answer at that moment."""
        return self._answers[path].value

    def live_rows(self, resource: Resource) -> dict[str, Any]:
        [name] = resource.order
        listed = self.live(f"/api/v0/{resource.name}?detail=1&limit=10000")["data"]["result"]["result"]
        return {row[name]: row for row in listed}


@pytest.fixture(scope="session")
def recording() -> Recording:
    return Recording(RAY_2_60)


@pytest.fixture(scope="session")
def replayed(
    recording: Recording, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Replayed]]:
    """Replay a moment of the recording (`live`, `after-node-death`, `end`); each is replayed once."""
    done: dict[str, Replayed] = {}
    # Of the log files only those that the folds read; the others have tests of their own.
    exported = [one for one in recording.logs() if WANTED.match(one[1])]

    def at(moment: str) -> Replayed:
        if moment not in done:
            path = tmp_path_factory.mktemp("index") / f"{moment}.sqlite"
            index = asyncio.run(_replay(recording, moment, path, exported))
            done[moment] = Replayed(recording, moment, index)
        return done[moment]

    yield at
    for one in done.values():
        one.index.close()


async def _replay(recording: Recording, moment: str, path: Path, files: LogFiles) -> Index:
    store = MemoryStore()
    session = await lay_out(store, recording.folder, moment=moment)
    for node, name, content in files:
        await store.put(layout.key(layout.LogFile(session, node, name)), content)
    await replay(store, session, path, clock=None if moment == END else recording.clock(moment))
    return Index(path)


LISTED = {
    "tasks": "/api/v0/tasks?limit=10000&detail=1&exclude_driver=false",
    **{
        name: f"/api/v0/{name}?detail=1&limit=10000"
        for name in ("actors", "nodes", "placement_groups", "workers", "objects")
    },
}


@pytest.fixture(scope="session")
def listed(recording: Recording, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """An index of what the dashboard listed while it was live: as if replay made no mistake."""
    path = tmp_path_factory.mktemp("index") / "listed.sqlite"
    writer = IndexWriter(path)
    for name, endpoint in LISTED.items():
        rows = recording.answer(endpoint).value["data"]["result"]["result"]
        rows.sort(key=lambda row: (row.get("task_id", ""), -row.get("attempt_number", 0)))
        writer.rows(RESOURCES[name], rows)
    writer.finish()
    index = Index(path)
    yield index
    index.close()
