"""Whatever the order in which events arrive, and however often: the same set gives the same index."""

from __future__ import annotations

import string
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rayhist import events
from rayhist.errors import BadIdentifier, DataError
from rayhist.events import ActorTransition, Event, NodeDefinition, StateTransition
from rayhist.ids import IdKind
from rayhist.replay.context import End
from rayhist.replay.merging import Definitions, Transitions, overlay, required_id, timed
from rayhist.resources import ACTORS, JOBS, NODES, WORKERS
from rayhist_testkit.folding import ENDED, fold
from rayhist_testkit.recordings import LIVE, Recording

OURS = ("NODE", "WORKER", "DRIVER_JOB", "ACTOR_DEFINITION", "ACTOR_LIFECYCLE")
_WORDS = st.sampled_from(["", "a", "b", "c"])


@pytest.fixture(scope="module")
def recorded(recording: Recording) -> list[Event]:
    """The events of nodes, workers, drivers and actors, each once."""
    decoded = (events.decode(line) for line in dict.fromkeys(recording.events(LIVE)))
    return [event for event in decoded if event.event_type.startswith(OURS)]


@pytest.fixture(scope="module")
def expected(recorded: list[Event]) -> list[str]:
    return fold(recorded, end=ENDED).everything()


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_order_and_duplicates_change_nothing(
    recorded: list[Event], expected: list[str], data: st.DataObject
) -> None:
    """A real cluster's events, shuffled, some of them twice; it has ended, so that ends are concluded too."""
    again = data.draw(st.lists(st.sampled_from(range(len(recorded))), max_size=60))
    shuffled = data.draw(st.randoms(use_true_random=False))
    mixed = [*recorded, *(recorded[index] for index in again)]
    shuffled.shuffle(mixed)

    assert fold(mixed, end=ENDED).everything() == expected


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_subset_of_the_events_breaks_the_replay(recorded: list[Event], data: st.DataObject) -> None:
    """Lost events cost what they said; every row has its id, and no job of an ended cluster goes on."""
    kept = data.draw(st.lists(st.sampled_from(range(len(recorded))), max_size=80, unique=True))
    folded = fold([recorded[index] for index in kept], end=ENDED)

    for resource in (NODES, WORKERS, ACTORS):
        assert all(row[resource.order[0]] for row in folded.rows(resource))
    assert {row["status"] for row in folded.rows(JOBS)} <= {"SUCCEEDED", "FAILED", "STOPPED"}
    assert all(row["state"] == "DEAD" for row in folded.rows(ACTORS))
    assert not any(row["is_alive"] for row in folded.rows(WORKERS))


def test_nothing_ends_before_it_began(recorded: list[Event]) -> None:
    """The last heartbeat of a cluster that was lost may be older than its last events, or unknown."""
    for at_ms in (0, 1796052700000):
        folded = fold(recorded, end=End(ended=True, at_ms=at_ms, reason="lost"))

        for resource, start, end in (
            (NODES, "start_time_ms", "end_time_ms"),
            (WORKERS, "start_time_ms", "end_time_ms"),
            (JOBS, "start_time", "end_time"),
        ):
            assert [row for row in folded.rows(resource) if row[end] < row[start]] == []
        actors = folded.documents("actor").values()
        assert [actor for actor in actors if actor["endTime"] < actor["startTime"]] == []


@given(said=st.permutations([(1, "a", ""), (1, "b", "x"), (2, "", "y"), (2, "c", ""), (3, "", "")]))
def test_a_later_statement_wins_field_by_field(said: list[tuple[int, str, str]]) -> None:
    definitions: Definitions[NodeDefinition] = Definitions()
    for at, name, host in said:
        definitions.add(at, NodeDefinition(node_name=name, hostname=host))

    assert definitions.merged() == NodeDefinition(node_name="c", hostname="y")


def test_nothing_said_is_nothing() -> None:
    assert Definitions[NodeDefinition]().merged() is None


@given(order=st.permutations(range(4)))
def test_transitions_go_by_time_and_each_counts_once(order: list[int]) -> None:
    """Nanoseconds count, though milliseconds are shown; at one time, the order of life decides."""
    moments = [
        StateTransition("B", "2026-11-30T15:30:00.000000002Z"),
        StateTransition("A", "2026-11-30T15:30:00.000000001Z"),
        StateTransition("C", "2026-11-30T15:30:00.000000002Z"),
        StateTransition("A", "2026-11-30T15:30:00.000000001Z"),
    ]
    transitions: Transitions[StateTransition] = Transitions()
    for index in order:
        transitions.add(timed([moments[index]]))

    assert [one.state for _, one in transitions.ordered(("A", "B", "C"))] == ["A", "B", "C"]
    last = transitions.last("A")
    assert last is not None
    assert last[0] == 1796052600000
    assert transitions.last("Z") is None


@given(order=st.permutations(["", "a", "ab"]))
def test_of_two_accounts_of_one_transition_the_fuller_counts(order: list[str]) -> None:
    """A retried event repeats itself; a blank one never replaces what another said."""
    transitions: Transitions[ActorTransition] = Transitions()
    for name in order:
        transitions.add(timed([ActorTransition("ALIVE", "2026-11-30T15:30:00Z", repr_name=name)]))

    assert [one.repr_name for _, one in transitions.ordered(())] == ["ab"]


def test_a_transition_without_a_time_spoils_its_event() -> None:
    with pytest.raises(DataError):
        timed([StateTransition("A", "2026-11-30T15:30:00Z"), StateTransition("B", "")])


@given(
    below=st.dictionaries(_WORDS, st.none() | _WORDS | st.integers(0, 2)),
    above=st.dictionaries(_WORDS, st.none() | _WORDS | st.integers(0, 2)),
)
def test_an_overlay_knows_at_least_what_either_side_knew(
    below: dict[str, Any], above: dict[str, Any]
) -> None:
    merged = overlay(below, above)

    for name in below.keys() | above.keys():
        known = [value for value in (above.get(name), below.get(name)) if value not in ("", None)]
        assert merged[name] == (known[0] if known else merged[name])
        assert merged[name] in (above.get(name), below.get(name))


@pytest.mark.parametrize("value", ["", "AAAA", "?", string.printable])
def test_an_id_that_is_absent_or_malformed_is_refused(value: str) -> None:
    with pytest.raises(BadIdentifier):
        required_id(IdKind.NODE, value)
