"""`/events` of a dead session: the event logs of all nodes, grouped and spelt as by Ray's dashboard."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayhist.index import IndexWriter
from rayhist.replay import logevents
from rayhist.replay.logevents import MAX_LINE_BYTES, MAX_PER_JOB, LogEvents
from rayhist_testkit.logs import LogArchive
from rayhist_testkit.recordings import RAY_2_60, Recording

Documents = dict[str, list[dict[str, Any]]]


def _written(found: LogEvents) -> Documents:
    writer = IndexWriter(Path(":memory:"))
    found.write(writer)
    documents = _documents(writer)
    writer.abandon()
    return documents


def _documents(writer: IndexWriter) -> Documents:
    rows = writer.database.execute("SELECT id, body FROM documents WHERE kind = 'event'")
    return {job: msgspec.json.decode(body) for job, body in rows}


def _taken(*lines: bytes | dict[str, Any]) -> tuple[Documents, int]:
    found = LogEvents()
    for line in lines:
        found.feed((line if isinstance(line, bytes) else msgspec.json.encode(line)) + b"\n")
    found.end_file()
    return _written(found), found.skipped


def _event(number: int, **more: Any) -> dict[str, Any]:
    return {"event_id": f"e{number}", "timestamp": number, "message": f"number {number}"} | more


def _ids(events: Iterable[dict[str, Any]]) -> list[str]:
    return [event["eventId"] for event in events]


async def _index(archive: LogArchive, problems: list[str]) -> Documents:
    writer = IndexWriter(Path(":memory:"))
    try:
        await archive.index(writer)
        await logevents.index(archive.store, writer, problems)
        return _documents(writer)
    finally:
        writer.abandon()


def test_events_are_those_of_the_live_dashboard() -> None:
    """The cluster went on after it was asked, so that there are more now; each is spelt the same."""
    recording = Recording(RAY_2_60)
    archive = LogArchive()

    async def build() -> Documents:
        for node, path, data in recording.logs():
            if path.startswith("events/"):
                await archive.file(path, data, node=node)
        return await _index(archive, problems)

    problems: list[str] = []
    ours = asyncio.run(build())
    live: Documents = recording.answer("/events").value["data"]["events"]
    compared = 0
    for job, events in live.items():
        known = {event["eventId"]: event for event in ours[job]}
        assert [known[event["eventId"]] for event in events] == events
        compared += len(events)
    assert compared > 30
    assert problems == []
    for events in ours.values():
        times = [int(event["timestamp"]) for event in events]
        assert times == sorted(times)


def test_events_are_grouped_by_job_and_those_without_one_are_global() -> None:
    found, _ = _taken(
        _event(1, custom_fields={"job_id": "01000000"}),
        _event(2, custom_fields={"job_id": ""}),
        _event(3, custom_fields={}),
        _event(4, custom_fields="no object"),
        _event(5),
    )
    assert {job: _ids(events) for job, events in found.items()} == {
        "01000000": ["e1"],
        "global": ["e2", "e3", "e4", "e5"],
    }


def test_both_dialects_keep_their_own_fields_in_camel_case() -> None:
    cpp = _event(1, host_name="vm", pid="12", custom_fields={"node_id": "ab", "job_id": "01000000"})
    python = _event(
        2, source_hostname="vm", source_pid=12, custom_fields={"x": [{"deep_key": 1}, "as_it_is"]}
    )
    found, _ = _taken(cpp, python)
    assert found["01000000"][0] == {
        "eventId": "e1",
        "timestamp": 1,
        "message": "number 1",
        "hostName": "vm",
        "pid": "12",
        "customFields": {"nodeId": "ab", "jobId": "01000000"},
    }
    assert found["global"][0]["sourceHostname"] == "vm"
    assert found["global"][0]["customFields"] == {"x": [{"deepKey": 1}, "as_it_is"]}


def test_times_are_compared_as_numbers_whether_they_are_written_as_text_or_not() -> None:
    times: list[Any] = ["10", 9, "2", 1.5, None, "nan", "x"]
    found, _ = _taken(*(_event(number, timestamp=time) for number, time in enumerate(times)))
    assert _ids(found["global"]) == ["e4", "e5", "e6", "e3", "e2", "e1", "e0"]


def test_line_breaks_in_a_message_are_restored() -> None:
    found, _ = _taken(_event(1, message="first\\nsecond\\rthird"), _event(2, message=7))
    assert [event["message"] for event in found["global"]] == ["first\nsecond\nthird", 7]


def test_an_event_that_is_told_again_is_told_once_in_its_last_form() -> None:
    found, _ = _taken(_event(1), _event(1, message="again"))
    assert [event["message"] for event in found["global"]] == ["again"]


@pytest.mark.parametrize(
    "line",
    [
        b'{"event_id": "torn", "mess',
        b"not JSON",
        b"[1, 2]",
        b"\xff\xfe",
        b'{"message": "without an id"}',
        b'{"event_id": 7}',
        b'{"event_id": "deep", "x": ' + b"[" * 5000 + b"]" * 5000 + b"}",
        b'{"event_id": "long", "message": "' + b"x" * (3 * 1024 * 1024) + b'"}',
    ],
    ids=["torn", "text", "array", "binary", "no id", "id no text", "deep", "3 MiB"],
)
def test_a_line_that_is_no_event_costs_that_line(line: bytes) -> None:
    found, skipped = _taken(_event(1), line, _event(2))
    assert _ids(found["global"]) == ["e1", "e2"]
    assert skipped == 1


def test_a_last_line_without_a_break_counts_if_it_is_whole() -> None:
    found = LogEvents()
    found.feed(msgspec.json.encode(_event(1)))
    found.end_file()
    found.feed(b'{"event_id": "torn"')
    found.end_file()
    found.feed(msgspec.json.encode(_event(2)) + b"\n")
    found.end_file()
    assert _ids(_written(found)["global"]) == ["e1", "e2"]
    assert found.skipped == 1


@given(cuts=st.lists(st.integers(0, 400), max_size=10))
def test_where_the_bytes_were_cut_makes_no_difference(cuts: list[int]) -> None:
    data = b"\n".join(msgspec.json.encode(_event(number)) for number in range(5))
    found = LogEvents()
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    for start, end in pairwise(places):
        found.feed(data[start:end])
    found.end_file()
    assert _ids(_written(found)["global"]) == [f"e{number}" for number in range(5)]


def test_a_line_that_never_ends_takes_bounded_memory() -> None:
    found = LogEvents()
    for _ in range(20):
        found.feed(b"x" * (MAX_LINE_BYTES // 2))
        assert len(found._rest) <= MAX_LINE_BYTES
    found.feed(b"\n" + msgspec.json.encode(_event(1)) + b"\n")
    found.end_file()
    assert found.skipped == 1
    assert _ids(_written(found)["global"]) == ["e1"]


def test_of_more_than_10_000_events_of_a_job_the_newest_are_kept() -> None:
    numbers = [*range(6_000, 12_500), *range(6_000)]
    found, _ = _taken(
        *(_event(number) for number in numbers), _event(1, custom_fields={"job_id": "01000000"})
    )
    assert _ids(found["global"]) == [f"e{number}" for number in range(12_500 - MAX_PER_JOB, 12_500)]
    assert len(found["01000000"]) == 1


def test_all_nodes_and_rotated_files_are_read_and_what_is_skipped_is_told() -> None:
    archive = LogArchive()
    problems: list[str] = []

    async def build() -> Documents:
        first, second = "0a" * 28, "0b" * 28
        await archive.file("events/event_GCS.log.1", msgspec.json.encode(_event(1)) + b"\n", node=first)
        await archive.file("events/event_GCS.log", msgspec.json.encode(_event(2)) + b"\nbroken\n", node=first)
        await archive.file("events/event_RAYLET.log", msgspec.json.encode(_event(3)), node=second)
        await archive.file("events/other.log", msgspec.json.encode(_event(4)), node=second)
        await archive.file("event_JOBS.log", msgspec.json.encode(_event(5)), node=second)
        return await _index(archive, problems)

    assert _ids(asyncio.run(build())["global"]) == ["e1", "e2", "e3"]
    assert problems == [f"1 lines of events/event_GCS.log of node {'0a' * 28} are no events, or too long."]
