"""Recording a cluster: its archive by the collectors, and its dashboard's answers while it lived."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from rayhist.errors import RayhistError
from rayhist_testkit.cluster import ClusterSettings, RayCluster
from rayhist_testkit.demo import record
from rayhist_testkit.demo.ledger import Ledger
from rayhist_testkit.demo.record import Recording
from rayhist_testkit.demo.workload import FULL
from rayhist_testkit.fidelity import asking, endings, questions, quiet
from rayhist_testkit.fidelity.known import look_around
from rayhist_testkit.fidelity.moments import Ending
from rayhist_testkit.fidelity.question import Answered

_TRIES = 3
_EVERY = 100
"""Answers between two signs of progress."""
_ENVIRONMENT = {"RAY_record_task_actor_creation_sites": "1"}
"""What Ray leaves out unless it is told, and replay has to know as well."""

Say = Callable[[str], None]


class _Asked(msgspec.Struct):
    """When the live dashboard was asked; epoch milliseconds."""

    from_ms: int
    until_ms: int


@dataclass(frozen=True, slots=True)
class Witnessed:
    """A recording, and what the live dashboard answered between two times (epoch milliseconds)."""

    ending: Ending
    recording: Recording
    live: list[Answered]
    from_ms: int
    until_ms: int


def witness(ending: Ending, folder: Path, sections: Sequence[str], say: Say) -> Witnessed:
    """Run the workload, ask everything, end the cluster.  All of it is kept in the folder."""
    settings = _settings(folder)
    with record.running(settings, FULL, folder / "recording", say) as (cluster, made):
        record.until_shipped(cluster, made)
        endings.prepare(ending, cluster, say)
        asked = _ask(cluster, made, folder, sections, say)
        say("waiting until the archive has it all")
        record.until_shipped(cluster, made)
        endings.carry_out(ending, cluster, say)
    (folder / "asked.json").write_bytes(msgspec.json.encode(asked))
    return reopen(ending, folder)


def reopen(ending: Ending, folder: Path) -> Witnessed:
    """What `witness` left in the folder."""
    recording = record.reopen(_settings(folder), folder / "recording")
    asked = msgspec.json.decode((folder / "asked.json").read_bytes(), type=_Asked)
    live = asking.read(folder / "live.jsonl")
    return Witnessed(ending, recording, live, asked.from_ms, asked.until_ms)


def _settings(folder: Path) -> ClusterSettings:
    return ClusterSettings(
        storage_url=(folder / "archive").absolute().as_uri(),
        namespace="fidelity",
        name="ray",
        ray_environment=_ENVIRONMENT,
    )


def _ask(cluster: RayCluster, made: Ledger, folder: Path, sections: Sequence[str], say: Say) -> _Asked:
    """Ask when the cluster has settled; anew if it changes meanwhile.  The answers are then in the folder."""
    for _ in range(_TRIES):
        say("waiting until the cluster has settled")
        before = quiet.until_quiet(cluster.dashboard)
        asked = questions.chosen(look_around(cluster.dashboard, made), sections)
        say(f"asking the live dashboard {len(asked)} questions")
        begun = _now_ms()
        answers = asking.ask_all(cluster.dashboard.address, asked)
        asking.write(folder / "live.jsonl", _told(answers, say))
        if quiet.standing(cluster.dashboard) == before:
            return _Asked(begun, _now_ms())
    raise RayhistError(f"the cluster changed during each of {_TRIES} rounds of questions")


def _told(answers: Iterator[Answered], say: Say) -> Iterator[Answered]:
    for count, one in enumerate(answers, 1):
        yield one
        if count % _EVERY == 0:
            say(f"{count} answers")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
