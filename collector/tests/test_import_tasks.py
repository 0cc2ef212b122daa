"""Tasks that a dashboard listed are, as events, replayed to the same list."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rayhist import layout
from rayhist.ids import Session
from rayhist.index import Index
from rayhist.memory import MemoryStore
from rayhist.query import Query, run
from rayhist.replay import replay
from rayhist.resources import TASKS
from rayhist_collector.importing import task_events
from rayhist_testkit.comparing import all_differences
from rayhist_testkit.recordings import AFTER_NODE_DEATH, CLUSTER, LIVE, RAY_2_60, Recording

EVERYTHING = "/api/v0/tasks?limit=10000&detail=1&exclude_driver=false"
SESSION = "session_2026-11-30_15-30-13_707929_24810"
NODE = "aa" * 28


async def _replayed(lines: list[bytes], path: Path) -> list[dict[str, Any]]:
    store, session = MemoryStore(), Session(CLUSTER, SESSION)
    await store.put(layout.key(layout.Marker(session)), b"")
    key = layout.key(layout.EventFile(session, NODE, "", "2026-11-30-15", 1))
    await store.put(key, b"\n".join(lines) + b"\n")
    report = await replay(store, session, path, conclude=False)
    assert (report.damaged, report.bad_events) == ({}, 0)
    index = Index(path)
    page = run(index, TASKS, Query(limit=10_000, detail=True, exclude_driver=False))
    index.close()
    return [msgspec.json.decode(row) for row in page.rows]


@pytest.mark.parametrize("moment", [LIVE, AFTER_NODE_DEATH])
def test_a_list_comes_back_field_by_field(moment: str, tmp_path: Path) -> None:
    listed = Recording(RAY_2_60).answer(EVERYTHING, moment).value["data"]["result"]["result"]
    rows = asyncio.run(_replayed(list(task_events.events(SESSION, NODE, listed)), tmp_path / "index"))

    def by_attempt(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
        return {f"{row['task_id']}/{row['attempt_number']}": row for row in rows}

    found, live = by_attempt(rows), by_attempt(listed)
    assert len(live) > 200
    assert all_differences(found, live, tolerance_ms=0) == []


def test_doing_it_again_gives_the_same_bytes() -> None:
    listed = Recording(RAY_2_60).answer(EVERYTHING, LIVE).value["data"]["result"]["result"]
    once, again = (b"\n".join(task_events.events(SESSION, NODE, listed)) for _ in range(2))
    assert once == again
    ids = [msgspec.json.decode(line)["eventId"] for line in once.split(b"\n")]
    assert len(set(ids)) == len(ids)
