"""A batch on its way to disk: told apart, without duplicates, with what is broken set aside."""

from __future__ import annotations

import base64
import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rayhist.clock import Clock
from rayhist_collector import event_intake
from rayhist_collector.event_intake import EventIntake
from rayhist_collector.quarantine import Quarantine
from rayhist_collector.recent import RecentIds
from rayhist_collector.spool import Spool

Make = Callable[..., dict[str, Any]]


def _lines(*events: dict[str, Any]) -> list[bytes]:
    return [json.dumps(event).encode() for event in events]


def _written(intake: EventIntake) -> dict[tuple[str, str, str], list[bytes]]:
    found: dict[tuple[str, str, str], list[bytes]] = {}
    for finished in intake.finished(everything=True):
        found.setdefault(finished.group, []).extend(finished.path.read_bytes().splitlines())
    return found


def test_events_are_written_as_they_came_by_session_node_and_job(
    spool: Spool, clock: Clock, make_event: Make
) -> None:
    other = "session_2026-12-01_00-00-00_000001_7"
    mine, job_less, old = (
        make_event(1),
        make_event(2, "NODE_LIFECYCLE_EVENT"),
        make_event(3, sessionName=other),
    )
    job_less["nodeLifecycleEvent"] = {}
    lines = _lines(mine, job_less, old)
    intake = EventIntake(spool, clock)
    outcome = intake.store(lines)
    assert (outcome.received, outcome.stored, outcome.duplicates) == (3, 3, 0)
    node = base64.b64decode(mine["nodeId"]).hex()
    assert _written(intake) == {
        (mine["sessionName"], node, "01000000"): [lines[0]],
        (mine["sessionName"], node, ""): [lines[1]],
        (other, node, "01000000"): [lines[2]],
    }


def test_an_event_that_comes_again_is_dropped_and_counted(
    spool: Spool, clock: Clock, make_event: Make
) -> None:
    intake = EventIntake(spool, clock)
    intake.store(_lines(make_event(1), make_event(1), make_event(2)))
    outcome = intake.store(_lines(make_event(2), make_event(3)))
    assert (outcome.stored, outcome.duplicates) == (1, 1)
    assert sum(map(len, _written(intake).values())) == 3


def test_one_bad_event_costs_that_event(spool: Spool, clock: Clock, make_event: Make) -> None:
    intake = EventIntake(spool, clock)
    outcome = intake.store([*_lines(make_event(1)), b"{", b"7", *_lines(make_event(2, sessionName="../x"))])
    assert outcome.stored == 1
    assert outcome.quarantined == {"not an event": 2, "hostile session name": 1}
    kept = (spool.quarantine / "events.jsonl").read_bytes().splitlines()
    assert [json.loads(line)["reason"] for line in kept] == ["not an event"] * 2 + ["hostile session name"]


def test_an_event_with_line_breaks_becomes_one_line(spool: Spool, clock: Clock, make_event: Make) -> None:
    pretty = json.dumps(make_event(1), indent=2).encode()
    intake = EventIntake(spool, clock)
    intake.store([pretty])
    [[line]] = _written(intake).values()
    assert json.loads(line) == make_event(1)


def test_a_disk_that_takes_nothing_loses_and_doubles_nothing(
    spool: Spool, clock: Clock, make_event: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the batch is written when the disk is full; Ray sends the whole batch again."""
    intake = EventIntake(spool, clock)
    batch = _lines(*(make_event(n, sessionName=f"session_2026-11-30_15-25-10_49025{n}_1") for n in range(4)))
    write, calls = os.write, []

    def full(descriptor: int, data: bytes) -> int:
        calls.append(descriptor)
        if len(calls) > 2:
            write(descriptor, bytes(data)[:10])
            raise OSError(28, "No space left on device")
        return write(descriptor, data)

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space"):
            intake.store(batch)
    intake.store(batch)
    written = [line for lines in _written(intake).values() for line in lines]
    assert sorted(written) == sorted(batch)


def test_what_a_crash_left_open_is_taken_over_without_its_torn_line(
    spool: Spool, clock: Clock, make_event: Make
) -> None:
    crashed = EventIntake(spool, clock)
    crashed.store(_lines(make_event(1), make_event(2)))
    [path] = spool.open.glob("events~*")
    with path.open("ab") as file:
        file.write(b'{"eventId": "torn')
    restarted = EventIntake(spool, clock)
    restarted.recover()
    outcome = restarted.store(_lines(make_event(2), make_event(3)))
    assert (outcome.stored, outcome.duplicates) == (1, 1), "the last batch may come again"
    [old] = [one for one in restarted.finished(everything=False) if one.path == path]
    assert old.path.read_bytes().splitlines() == _lines(make_event(1), make_event(2))
    assert old.tally["TASK_LIFECYCLE_EVENT"].count == 2


def test_sealing_twice_gives_the_same_object(spool: Spool, clock: Clock, make_event: Make) -> None:
    """A crash between the two steps of sealing must not make a second object."""
    intake = EventIntake(spool, clock)
    intake.store(_lines(make_event(1)))
    [finished] = intake.finished(everything=True)
    content = finished.path.read_bytes()
    event_intake.seal(spool, "x/one", finished.path)
    finished.path.write_bytes(content)
    event_intake.seal(spool, "x/one", finished.path)
    entry = spool.look("x/one")
    assert entry is not None
    assert spool.sealed_keys() == ["x/one"]
    assert gzip.decompress(entry.sealed.path.read_bytes()) == content


def test_open_files_are_bounded_in_number_and_size(spool: Spool, clock: Clock, make_event: Make) -> None:
    intake = EventIntake(spool, clock)
    jobs = [base64.b64encode(n.to_bytes(4, "little")).decode() for n in range(1, 101)]
    intake.store(_lines(*(make_event(n, taskLifecycleEvent={"jobId": job}) for n, job in enumerate(jobs))))
    assert len(intake.finished(everything=False)) == 36
    intake.finished(everything=True)
    intake.store(_lines(make_event(1000), make_event(1001, message="x" * (33 << 20))))
    assert len(intake.finished(everything=False)) == 1


def test_recent_ids_are_bounded_but_never_too_few() -> None:
    recent = RecentIds(size=10)
    for number in range(95):
        recent.add(str(number))
        assert all(str(n) in recent for n in range(max(0, number - 9), number + 1))
    assert sum(str(n) in recent for n in range(95)) <= 20


def test_quarantine_is_bounded(tmp_path: Path) -> None:
    quarantine = Quarantine(tmp_path)
    for _ in range(600):
        quarantine.add(b"x" * 200_000, "not an event", 1)
    sizes = [path.stat().st_size for path in tmp_path.iterdir()]
    assert len(sizes) == 2
    assert max(sizes) <= 16 << 20
    last = (tmp_path / "events.jsonl").read_bytes().splitlines()[-1]
    assert msgspec.json.decode(last)["bytes"] == 200_000
