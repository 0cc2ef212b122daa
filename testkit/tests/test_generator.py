"""Generated sessions have the shapes and proportions of real ones, and can be replayed."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from rayhist import events
from rayhist.index import Index
from rayhist.memory import MemoryStore
from rayhist.query import Query, run
from rayhist.replay import replay
from rayhist.resources import NODES, TASKS
from rayhist_testkit import generator
from rayhist_testkit.recordings import RAY_2_60, Recording

SHAPE = generator.Shape(tasks=500, jobs=3, nodes=4, workers=8)


def _lines() -> list[bytes]:
    return [line.data for line in generator.events(SHAPE)]


def test_the_same_shape_gives_the_same_bytes() -> None:
    assert _lines() == _lines()


def test_proportions_are_those_of_a_real_cluster() -> None:
    """Per attempt a definition, two and a half lifecycle events, and a profile; some 900 bytes each."""
    lines = _lines()
    counts = Counter(events.decode(line).event_type for line in lines)
    attempts = counts["TASK_PROFILE_EVENT"]

    assert attempts == SHAPE.tasks * 51 // 50
    assert counts["TASK_DEFINITION_EVENT"] + counts["ACTOR_TASK_DEFINITION_EVENT"] == attempts
    assert 2.4 < counts["TASK_LIFECYCLE_EVENT"] / attempts < 2.6
    assert 3500 < sum(map(len, lines)) / attempts < 4500


def _form(value: Any) -> Any:
    """What a value looks like: names and types, without what the user chooses."""
    if isinstance(value, dict):
        return {name: _form(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_form(value[0])] if value else []
    return type(value).__name__


def test_every_field_of_a_task_event_has_its_place_and_form_in_a_real_one() -> None:
    """Otherwise what is measured with generated sessions says nothing of real ones."""
    real: dict[str, dict[str, Any]] = {}
    for line in Recording(RAY_2_60).all_events:
        event = json.loads(line)
        real.setdefault(event["eventType"], {}).update(event)
        for name, payload in event.items():
            if name.endswith(("Event", "Events")):
                merged = real[event["eventType"]].setdefault(f"{name}*", {})
                merged |= {key: one for key, one in payload.items() if one or key not in merged}
    for line in _lines():
        event = json.loads(line)
        known = real[event["eventType"]]
        assert set(event) <= set(known)
        for name, payload in event.items():
            if "TASK" in event["eventType"] and name.endswith(("Event", "Events")):
                merged = known[f"{name}*"]
                assert set(payload) <= set(merged), event["eventType"]
                for key, one in payload.items():
                    if one and merged[key] and not isinstance(one, dict):
                        assert _form(one) == _form(merged[key]), key


def test_a_generated_session_can_be_replayed(tmp_path: Path) -> None:
    async def work() -> None:
        store = MemoryStore()
        session = await generator.lay_out(store, SHAPE, level=1)
        report = await replay(store, session, tmp_path / "index.sqlite")
        assert (report.bad_events, report.damaged) == (0, {})
        assert not any("task" in problem for problem in report.problems)

    asyncio.run(work())
    index = Index(tmp_path / "index.sqlite")
    rows = [msgspec.json.decode(row) for row in run(index, TASKS, Query(limit=10_000, detail=True)).rows]

    assert Counter((row["state"], row["attempt_number"]) for row in rows) == {
        ("FINISHED", 0): 490,
        ("FAILED", 0): 10,
        ("FINISHED", 1): 10,
    }
    assert Counter(row["type"] for row in rows) == {"NORMAL_TASK": 450, "ACTOR_TASK": 60}
    assert {len(row["profiling_data"]["events"]) for row in rows} == {4}
    assert len({row["job_id"] for row in rows}) == SHAPE.jobs
    assert run(index, NODES, Query()).total == SHAPE.nodes
