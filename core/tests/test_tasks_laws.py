"""The rows of tasks depend on the set of events alone, and no event breaks the fold."""

from __future__ import annotations

import json
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rayhist import events
from rayhist.errors import DataError
from rayhist.replay.tasks import TaskFold
from rayhist_testkit import generator
from rayhist_testkit.recordings import RAY_2_60, Recording
from rayhist_testkit.task_events import new_context, table, table_of

RECORDED = [
    line for line in Recording(RAY_2_60).all_events if events.decode(line).event_type in TaskFold.types
]
GENERATED = [
    line.data
    for line in generator.events(generator.Shape(tasks=10, jobs=2, nodes=2, workers=3, functions=2))
    if events.decode(line.data).event_type in TaskFold.types
]
WHOLE = table_of(RECORDED)


@pytest.mark.parametrize("seed", range(6))
def test_a_recorded_stream_in_any_order_with_any_repetition_gives_the_same_bytes(seed: int) -> None:
    chance = random.Random(seed)
    lines = RECORDED + chance.choices(RECORDED, k=500)
    chance.shuffle(lines)

    assert table_of(lines) == WHOLE


@settings(max_examples=60, deadline=None)
@given(st.permutations(GENERATED), st.lists(st.sampled_from(GENERATED), max_size=10))
def test_a_stream_in_any_order_with_any_repetition_gives_the_same_bytes(
    lines: list[bytes], again: list[bytes]
) -> None:
    assert table_of([*lines, *again]) == table_of(GENERATED)


def test_transitions_may_be_told_together_or_one_by_one() -> None:
    apart = []
    for line in RECORDED:
        event = json.loads(line)
        transitions = event.get("taskLifecycleEvent", {}).get("stateTransitions", [])
        for transition in transitions[1:]:
            payload = {**event["taskLifecycleEvent"], "stateTransitions": [transition]}
            apart.append(json.dumps({**event, "taskLifecycleEvent": payload}).encode())
        if transitions:
            event["taskLifecycleEvent"]["stateTransitions"] = transitions[:1]
        apart.append(json.dumps(event).encode())

    assert len(apart) > len(RECORDED)
    assert table_of(apart) == WHOLE


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["////", "2026-11-30T15:30:45Z", "9" * 30, "{", {}, [], [{}], {"a": {"b": []}}]),
)


def _broken(draw: st.DrawFn, value: Any) -> Any:
    """The value with something in it exchanged or left out."""
    if isinstance(value, dict) and value and draw(st.integers(0, 9)):
        name = draw(st.sampled_from(sorted(value)))
        if draw(st.integers(0, 4)) == 0:
            return {key: one for key, one in value.items() if key != name}
        return {**value, name: _broken(draw, value[name])}
    if isinstance(value, list) and value and draw(st.integers(0, 9)):
        place = draw(st.integers(0, len(value) - 1))
        return [*value[:place], _broken(draw, value[place]), *value[place + 1 :]]
    return draw(JUNK)


@st.composite
def _broken_events(draw: st.DrawFn) -> list[Any]:
    chosen = draw(st.lists(st.sampled_from(GENERATED + RECORDED[:200]), min_size=1, max_size=4))
    return [_broken(draw, json.loads(line)) for line in chosen]


@settings(max_examples=250, deadline=None)
@given(_broken_events(), st.booleans())
def test_no_event_breaks_the_fold(broken: list[Any], ended: bool) -> None:
    """What is broken is refused with `DataError` or taken; the rows can be written and read all the same."""
    fold = TaskFold()
    for event in broken:
        try:
            fold.add(events.decode(json.dumps(event).encode()))
        except DataError:
            continue
    for row in table(fold, new_context(ended_at_ms=1 if ended else 0)):
        more = row["more"]
        assert set(msgspec.json.decode(more)) >= {"events", "profiling_data", "runtime_env_info"}


@settings(max_examples=100, deadline=None)
@given(_broken_events())
def test_a_refused_event_costs_nothing_but_itself(broken: list[Any]) -> None:
    fold = TaskFold()
    for line in GENERATED:
        fold.add(events.decode(line))
    before = table(fold)
    refused = 0
    for event in broken:
        try:
            decoded = events.decode(json.dumps(event).encode())
        except DataError:
            continue
        try:
            TaskFold().add(decoded)
        except DataError:
            refused += 1
            with pytest.raises(DataError):
                fold.add(decoded)
    if refused:
        assert table(fold) == before
