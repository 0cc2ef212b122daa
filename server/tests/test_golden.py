"""Every answer of a real dashboard of Ray 2.60, asked again of the replay: 698 of them, field by field."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from rayhist_testkit.fidelity.compare import Difference, compare
from rayhist_testkit.fidelity.question import Given
from rayhist_testkit.recordings import RecordedAnswer

from .allowed import TABLE
from .conftest import Recorded

GROUPS = (
    "actors",
    "data",
    "events",
    "jobs",
    "logfile",
    "logs",
    "nodes",
    "progress",
    "serve",
    "shell",
    "state",
    "task",
    "timeline",
    "train",
)

Found = list[tuple[str, Difference]]


@pytest.fixture(scope="module")
def found(recorded: Recorded) -> dict[str, Found]:
    """The differences by group, each with the question; a group without any has an empty list."""
    assert recorded.client.get(recorded.base + "/timezone").status_code == 200  # it is open now
    differences: dict[str, Found] = defaultdict(list)
    for live in recorded.recording.answers():
        pairs = compare(given(live), asked(recorded, live))
        differences[live.group] += [(live.path, difference) for difference in pairs]
    return differences


def given(live: RecordedAnswer) -> Given:
    if live.method == "HEAD":
        return Given(live.status, "", "", b"")
    return Given(live.status, live.content_type, live.content_disposition, bytes(live.json) or live.body)


def asked(recorded: Recorded, live: RecordedAnswer) -> Given:
    headers = {"user-agent": "Mozilla/5.0" if live.browser else "python", "accept": "application/json"}
    answer = recorded.client.request(
        live.method, recorded.base + live.path, headers=headers, follow_redirects=False
    )
    if live.method == "HEAD":
        return Given(answer.status_code, "", "", b"")
    return Given(
        answer.status_code,
        answer.headers.get("content-type", ""),
        answer.headers.get("content-disposition", ""),
        answer.content,
    )


@pytest.mark.parametrize("group", GROUPS)
def test_the_replay_answers_what_the_live_dashboard_answered(found: dict[str, Found], group: str) -> None:
    unexplained = [
        f"{question}\n   {difference.at} ({difference.kind}): live {difference.live!r:.200}"
        f"\n   replay {difference.replay!r:.200}"
        for question, difference in found[group]
        if not any(rule.explains(question, difference) for rule in TABLE)
    ]
    assert not unexplained, "\n".join(unexplained[:20])


def test_every_allowed_difference_occurs(found: dict[str, Found]) -> None:
    everything = [pair for pairs in found.values() for pair in pairs]
    unused = [rule for rule in TABLE if not any(rule.explains(*pair) for pair in everything)]
    assert unused == []


def test_most_answers_are_equal_to_the_last_field(recorded: Recorded, found: dict[str, Found]) -> None:
    asked_in = Counter(live.group for live in recorded.recording.answers())
    assert set(asked_in) == set(GROUPS)
    differing = {group: len({question for question, _ in pairs}) for group, pairs in found.items()}
    equal = sum(asked_in.values()) - sum(differing.values())
    assert asked_in.total() == 698
    assert equal >= 480, differing
