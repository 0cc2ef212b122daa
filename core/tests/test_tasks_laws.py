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


@pytest.mark.parametrize("seed", range(3))
def test_a_recorded_stream_in_any_order_with_any_repetition_gives_the_same_bytes(seed: int) -> None:
    chance = random.Random(seed)
    lines = RECORDED + chance.choices(RECORDED, k=500)
    chance.shuffle(lines)

    assert table_of(lines) == WHOLE


@settings(max_examples=30, deadline=None)
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


ONE_ATTEMPT = {json.loads(line)["eventId"] for line in GENERATED[:4]}

ABOUT_ANOTHER = {"taskId", "taskAttempt", "attemptNumber", "eventType", "state", "extraData"}
"""Fields in which the events of one attempt cannot differ, or that are not of one kind."""


def _contradicted(chance: random.Random, name: str, value: Any) -> Any:
    """An event about the same attempt with other values of the same kind, here and there."""
    if isinstance(value, dict):
        return {key: _contradicted(chance, key, one) for key, one in value.items()}
    if isinstance(value, list):
        return [_contradicted(chance, name, one) for one in value]
    if name in ABOUT_ANOTHER or chance.random() < 0.7:
        return value
    if name == "timestamp":
        return chance.choice(["2026-01-02T03:04:05Z", "2026-01-02T03:04:06.5Z"])
    if name in {"nodeId", "workerId"}:
        return chance.choice(["", *(generator.in_base64(bytes([number] * 28)) for number in (1, 2, 255))])
    if name.endswith("Id") or isinstance(value, bool):
        return value
    is_number = isinstance(value, int | float) or value.isdigit()
    return chance.randrange(4) if is_number else chance.choice(["", "a", "b"])


JUNK = [None, True, 0, -1, 2**70, 1.5, "", "////", "2026-11-30T15:30:45Z", "9" * 30, "{", "\0", {}, [], [{}]]


def _broken(chance: random.Random, value: Any) -> Any:
    """The value with something in it exchanged or left out."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        name = chance.choice(sorted(value))
        if chance.random() < 0.2:
            return {key: one for key, one in value.items() if key != name}
        return {**value, name: _broken(chance, value[name])}
    if isinstance(value, list) and value and chance.random() < 0.9:
        place = chance.randrange(len(value))
        return [*value[:place], _broken(chance, value[place]), *value[place + 1 :]]
    return chance.choice(JUNK)


def _broken_events(chance: random.Random, count: int) -> list[bytes]:
    lines = chance.choices(GENERATED + RECORDED[:200], k=count)
    return [json.dumps(_broken(chance, json.loads(line))).encode() for line in lines]


SEEDS = st.integers(0, 2**32)


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.booleans())
def test_no_event_breaks_the_fold(seed: int, ended: bool) -> None:
    """What is broken is refused with `DataError` or taken; the rows can be written and read all the same."""
    fold = TaskFold()
    for line in _broken_events(random.Random(seed), 20):
        try:
            fold.add(events.decode(line))
        except DataError:
            continue
    for row in table(fold, new_context(ended_at_ms=1 if ended else 0)):
        assert set(msgspec.json.decode(row["more"])) >= {"events", "profiling_data", "runtime_env_info"}


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_a_refused_event_costs_nothing_but_itself(seed: int) -> None:
    """The rows are those of the events that were believed."""
    chance = random.Random(seed)
    lines = GENERATED + _broken_events(chance, 20)
    chance.shuffle(lines)
    fold, believed = TaskFold(), []
    for line in lines:
        try:
            fold.add(events.decode(line))
        except DataError:
            continue
        believed.append(line)

    assert len(believed) >= len(GENERATED)
    assert table(fold) == table_of(believed)


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_even_events_that_contradict_each_other_may_come_in_any_order(seed: int) -> None:
    """Of what differs the same is taken, whichever came first."""
    chance = random.Random(seed)
    attempt = [line for line in GENERATED if json.loads(line)["eventId"] in ONE_ATTEMPT]
    lines = [
        json.dumps(_contradicted(chance, "", json.loads(line))).encode()
        for line in [*attempt, *chance.choices(attempt, k=6)]
    ]
    once = table_of(lines)
    chance.shuffle(lines)

    assert len(once) == 1
    assert table_of(lines) == once
