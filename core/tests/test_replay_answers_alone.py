"""A cluster of Ray 2.53 of which only the dashboard's answers were recorded, no event and no log."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rayhist import layout
from rayhist.ids import Session
from rayhist.index import Index
from rayhist.manifest import SessionMarker
from rayhist.memory import MemoryStore
from rayhist.query import Query, run
from rayhist.replay import replay
from rayhist.resources import ACTORS, NODES, OBJECTS, PLACEMENT_GROUPS, RUNTIME_ENVS, WORKERS, Resource
from rayhist_testkit.comparing import ABSENT, all_differences
from rayhist_testkit.folding import ENDED, answer, fold
from rayhist_testkit.recordings import CLUSTER, LIVE, RAY_2_60, RecordedAnswer, Recording

RAY_2_53 = RAY_2_60.parent / "ray-2.53.0"
STATE_API = re.compile(r"/api/v0/(nodes|actors)\?.*")
"""Lists that need not be polled: events usually tell what they tell."""

Lay = Callable[[re.Pattern[str] | None], Index]


@pytest.fixture(scope="module")
def answers() -> dict[str, RecordedAnswer]:
    """By path, those that no browser asked for, where there are any."""
    found = Recording(RAY_2_53).answers(LIVE)
    return {one.path: one for one in sorted(found, key=lambda one: not one.browser)}


@pytest.fixture(scope="module")
def indexed(answers: dict[str, RecordedAnswer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lay]:
    """Replay the answers, all or without those whose paths match."""
    opened = []

    def make(without: re.Pattern[str] | None) -> Index:
        path = tmp_path_factory.mktemp("index") / "index"
        kept = [one for one in answers.values() if not (without and without.fullmatch(one.path))]
        asyncio.run(_replay(kept, path))
        opened.append(Index(path))
        return opened[-1]

    yield make
    for index in opened:
        index.close()


async def _replay(kept: list[RecordedAnswer], path: Path) -> None:
    store = MemoryStore()
    [name] = [one.value["session_name"] for one in kept if one.path == "/api/version"]
    session = Session(CLUSTER, name)
    clock = Recording(RAY_2_53).clock(LIVE)
    marker = SessionMarker(ray_version="2.53.0", last_seen_ms=clock.time_ms())
    await store.put(layout.key(layout.Marker(session)), msgspec.json.encode(marker))
    for one in kept:
        if one.status == 200:
            endpoint = layout.canonical_endpoint(one.path)
            await store.put(layout.key(layout.FetchedEndpoint(session, endpoint)), bytes(one.json))
    report = await replay(store, session, path, clock=clock)
    assert report.damaged == {}


def rows(index: Index, resource: Resource) -> list[dict[str, Any]]:
    page = run(index, resource, Query(limit=10_000, detail=True))
    return [msgspec.json.decode(row) for row in page.rows]


def listed(answers: dict[str, RecordedAnswer], resource: Resource) -> list[dict[str, Any]]:
    """The live list, with `None` for the columns that Ray 2.60 added."""
    found = answers[f"/api/v0/{resource.name}?detail=1&limit=10000"].value["data"]["result"]["result"]
    return [dict.fromkeys(resource.columns) | row for row in found]


@pytest.mark.parametrize(
    "resource",
    [NODES, WORKERS, ACTORS, PLACEMENT_GROUPS, OBJECTS, RUNTIME_ENVS],
    ids=lambda one: one.name,
)
def test_every_list_is_as_it_was(
    indexed: Lay, answers: dict[str, RecordedAnswer], resource: Resource
) -> None:
    found = rows(indexed(None), resource)

    assert found == listed(answers, resource)
    assert found


def test_nodes_and_actors_are_read_off_the_pages_where_no_list_was_recorded(
    indexed: Lay, answers: dict[str, RecordedAnswer]
) -> None:
    """The pages do not say everything: an actor's namespace, environment, detachment and cause of death."""
    index = indexed(STATE_API)
    by_node = {row["node_id"]: row for row in rows(index, NODES)}
    by_actor = {row["actor_id"]: row for row in rows(index, ACTORS)}
    live_nodes = {row["node_id"]: row for row in listed(answers, NODES)}
    live_actors = {row["actor_id"]: row for row in listed(answers, ACTORS)}
    unsaid = {".ray_namespace", ".serialized_runtime_env", ".is_detached", ".required_resources"}

    assert all_differences(by_node, live_nodes) == []
    differing = {path for _, (path, _, _) in all_differences(by_actor, live_actors)}
    assert {path.split(".")[1] for path in differing} <= {"death_cause", *(one[1:] for one in unsaid)}
    assert by_actor.keys() == live_actors.keys()


def test_the_pages_are_as_they_were(indexed: Lay, answers: dict[str, RecordedAnswer]) -> None:
    index = indexed(STATE_API)
    documents = {
        kind: {name: msgspec.json.decode(body) for name, body in index.documents(kind)}
        for kind in ("actor", "job", "node.summary", "node.detail")
    }
    actors = answers["/logical/actors"].value["data"]["actors"]
    nodes = {one["raylet"]["nodeId"]: one for one in answers["/nodes?view=summary"].value["data"]["summary"]}
    jobs = {job["submission_id"] or job["job_id"]: job for job in answers["/api/jobs/"].value}

    assert documents["job"] == jobs
    for ours, live in ((documents["actor"], actors), (documents["node.summary"], nodes)):
        # What 2.60's pages want and 2.53's dashboard did not have; and ids that it overwrote with nothing.
        found = {(path, its) for _, (path, _, its) in all_differences(ours, live)}
        assert found <= {(".tpus", ABSENT), (".actorId", "f" * 32)}
    assert documents["node.detail"].keys() == nodes.keys()


JUNK = st.sampled_from([None, True, -1, 2**70, 1e300, "", "DEAD", [], [[]], {}, {"": None}])


@st.composite
def spoiled(draw: st.DrawFn, value: Any) -> Any:
    """The value with something odd in one place of it."""
    if not isinstance(value, dict | list) or not value or draw(st.integers(0, 7)) == 0:
        return draw(JUNK)
    if isinstance(value, dict):
        name = draw(st.sampled_from(sorted(value)))
        return {**value, name: draw(spoiled(value[name]))}
    place = draw(st.integers(0, min(len(value), 3) - 1))
    return [*value[:place], draw(spoiled(value[place])), *value[place + 1 :]]


@pytest.fixture(scope="module")
def small(answers: dict[str, RecordedAnswer]) -> dict[str, Any]:
    """One good answer of each question that a fold reads, cut to a few things each."""
    wanted = re.compile(r"/nodes.*|/logical/actors|/api/jobs/|/api/v0/(?!tasks|jobs).*")
    return {
        path: _cut(one.value) for path, one in answers.items() if one.status == 200 and wanted.fullmatch(path)
    }


def _cut(value: Any) -> Any:
    if isinstance(value, list):
        return [_cut(one) for one in value[:2]]
    if isinstance(value, dict):
        names = list(value) if len(value) < 40 else list(value)[:2]
        return {name: _cut(value[name]) for name in names}
    return value


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_answer_however_odd_breaks_the_replay(small: dict[str, Any], data: st.DataObject) -> None:
    """It costs what it says; all the other answers are replayed."""
    chosen = data.draw(st.sampled_from(sorted(small)))
    bodies = small | {chosen: data.draw(spoiled(small[chosen]))}
    folded = fold([], answers=[answer(*one) for one in bodies.items()], end=ENDED)

    assert len(folded.documents("answer")) == len({layout.canonical_endpoint(path) for path in small})
    if not chosen.startswith(("/nodes", "/api/v0/nodes")):
        assert len(folded.rows(NODES)) == 1
