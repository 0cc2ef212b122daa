"""Sessions never mix, although ids repeat from one to the next.

The recording is copied into the same archive twice more: as an earlier session of the same cluster, and as a
cluster of the same name in another namespace.  The copies have every id of the original, but other names in
them, of the same length.  So each session must answer what the original answers with those names changed.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest
from e2e.archives import Rewrite, copy

from rayhist.ids import Cluster, Session
from rayhist_testkit.cluster.server import HistoryServer
from rayhist_testkit.demo.record import Recording
from rayhist_testkit.demo.shipped import open_store
from rayhist_testkit.fidelity.asking import ask_all
from rayhist_testkit.fidelity.question import Given, Question

pytestmark = [pytest.mark.services, pytest.mark.timeout(900)]

_NAMES = (b"succeed_at_third", b"counted to", b"Counter", b"square", b"submitted")


@dataclass(frozen=True)
class Other:
    """A copy: where it is, and how its bytes differ from those of the original."""

    session: Session
    rewrite: Rewrite


def _marked(mark: bytes) -> Callable[[bytes], bytes]:
    """Put a mark over the last letter of each name."""
    pattern = re.compile(b"|".join(_NAMES))
    return lambda data: pattern.sub(lambda found: found[0][:-1] + mark, data)


@pytest.fixture(scope="module")
def others(recording: Recording) -> dict[str, Other]:
    cluster = recording.session.cluster
    earlier = Session(cluster, re.sub(r"\d{4}", "2001", recording.session.name, count=1))
    elsewhere = Session(Cluster(cluster.kind, "elsewhere", cluster.name), recording.session.name)
    ours = recording.session

    def as_earlier(data: bytes) -> bytes:
        return _marked(b"1")(data.replace(ours.name.encode(), earlier.name.encode()))

    def as_elsewhere(data: bytes) -> bytes:
        # In keys alone the namespace stands beside the cluster's name.
        moved = data.replace(b"/research/nightly/", b"/elsewhere/nightly/")
        return _marked(b"2")(moved.replace(b"/research_nightly/", b"/elsewhere_nightly/"))

    return {"same cluster": Other(earlier, as_earlier), "same name": Other(elsewhere, as_elsewhere)}


@pytest.fixture(scope="module")
def crowded(
    recording: Recording, others: dict[str, Other], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[HistoryServer]:
    """A server over an archive with the original and both copies."""
    folder = tmp_path_factory.mktemp("crowded")
    settings = replace(recording.settings, storage_url=(folder / "archive").as_uri())

    async def fill() -> None:
        async with open_store(recording.settings) as source, open_store(settings) as target:
            await copy(source, target)
            for other in others.values():
                await copy(source, target, other.rewrite)

    asyncio.run(fill())
    with HistoryServer(settings.storage_url, folder / "server") as running:
        yield running


@pytest.mark.parametrize("which", ["same cluster", "same name"])
def test_a_session_answers_only_of_itself(
    which: str,
    crowded: HistoryServer,
    recording: Recording,
    others: dict[str, Other],
    questions: list[Question],
) -> None:
    other = others[which]
    for session in (recording.session, other.session):
        crowded.until_ended(session)
    asked = [one for one in questions if not _names_in(one)]
    original = ask_all(crowded.session_url(recording.session), asked)
    copied = ask_all(crowded.session_url(other.session), asked)
    different = [
        ours.question.name
        for ours, theirs in zip(original, copied, strict=True)
        if _expected(ours.answer, other) != theirs.answer
    ]
    assert different == []


def _names_in(question: Question) -> bool:
    """Whether it asks for something by a name that the copies have changed."""
    return any(name.lower() in question.path.lower().encode() for name in _NAMES)


def test_the_marks_really_tell_the_sessions_apart(
    crowded: HistoryServer, recording: Recording, others: dict[str, Other]
) -> None:
    def names(session: Session) -> set[str]:
        return {row["name"] for row in crowded.session(session).rows("tasks")}

    assert "square" in names(recording.session)
    assert "squar1" in names(others["same cluster"].session)
    assert "squar2" in names(others["same name"].session)


def test_all_three_are_listed_apart(
    crowded: HistoryServer, recording: Recording, others: dict[str, Other]
) -> None:
    listed = {one["path"] for one in crowded.root.json("api/v1/sessions")["sessions"]}
    sessions = [recording.session, *(other.session for other in others.values())]
    assert listed == {f"/s/{session.path}/" for session in sessions}


def test_latest_is_the_newest_session_of_that_cluster(crowded: HistoryServer, recording: Recording) -> None:
    latest = Session(recording.session.cluster, recording.session.name)
    address = crowded.url + f"s/{latest.cluster.path}/latest/"
    [answered] = ask_all(address, [Question("/api/version")])
    assert recording.session.name.encode() in answered.answer.body


def _expected(answer: Given, other: Other) -> Given:
    """The original's answer as the copy has to give it."""
    return Given(answer.status, answer.kind, answer.disposition, other.rewrite(answer.body))
