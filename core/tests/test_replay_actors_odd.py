"""Actors: what cannot be believed costs only itself."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rayhist.errors import DataError
from rayhist.events import decode
from rayhist.replay.actors import ActorFold
from rayhist_testkit.folding import answer, fold

from .actors_told import (
    ACTOR,
    alive,
    definition,
    document,
    lifecycle,
    logical,
    ms,
    row,
    shown,
    state,
)


@pytest.mark.parametrize(
    "bad",
    [
        definition(actorId=""),
        definition(jobId="AAAAAAAA"),
        definition(placementGroupId="AA=="),
        lifecycle(alive(2, worker="ee")),
        lifecycle(state("ALIVE", 2) | {"timestamp": ""}),
    ],
)
def test_nothing_is_taken_of_an_event_that_cannot_be_believed(bad: dict[str, Any]) -> None:
    actors = ActorFold()
    with pytest.raises(DataError):
        actors.add(decode(msgspec.json.encode(bad)))

    assert actors._events == {}


@pytest.mark.parametrize("body", [{"data": {"actors": []}}, {"data": {"actors": {ACTOR: 7}}}, 3])
def test_an_answer_of_another_shape_is_named(body: object) -> None:
    folded = fold([definition(), lifecycle(alive(2))], answers=[answer("/logical/actors", body)])

    assert row(folded)["state"] == "ALIVE"
    assert any("The recorded answer of /logical/actors cannot be read" in one for one in folded.problems)


def test_one_odd_actor_costs_that_actors_view() -> None:
    odd = shown("ALIVE", ms(2), pid={"not": "a pid"})
    folded = fold([definition(), lifecycle(alive(2))], answers=[logical(odd)])

    assert (document(folded)["pid"], document(folded)["processStats"]) == (42, None)
    assert "1 actors of the recorded answer of /logical/actors cannot be read." in folded.problems
