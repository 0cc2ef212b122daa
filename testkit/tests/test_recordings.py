"""The recordings can be read, and are laid out as a collector would have written them."""

import asyncio

from rayhist import layout
from rayhist.manifest import read_marker
from rayhist.memory import MemoryStore
from rayhist.replay.inventory import take
from rayhist_testkit import recordings
from rayhist_testkit.recordings import RAY_2_60, Recording


def test_a_recording_holds_events_answers_and_logs() -> None:
    recording = Recording(RAY_2_60)
    assert len(recording.all_events) == 3867
    assert len(recording.events(recordings.LIVE)) == 2040
    assert recording.answer("/api/v0/tasks?limit=10000").value["data"]["result"]["total"] == 258
    assert len({node for node, _, _ in recording.logs()}) == 4


def test_the_end_has_every_event_and_a_marker_that_says_so() -> None:
    async def check() -> None:
        store = MemoryStore()
        session = await recordings.lay_out(store, RAY_2_60, logs=True)
        found = await take(store, session)
        assert not found.unknown
        assert len(found.manifests) == len(found.nodes) == 4
        assert len(found.log_files) > 400
        marker = read_marker(await store.get(layout.key(layout.Marker(session))), "marker")
        assert marker.end_ms > marker.start_ms

    asyncio.run(check())


def test_an_earlier_moment_goes_on() -> None:
    async def check() -> None:
        store = MemoryStore()
        session = await recordings.lay_out(store, RAY_2_60, moment=recordings.LIVE)
        found = await take(store, session)
        assert len(found.snapshots) == 1
        marker = read_marker(await store.get(layout.key(layout.Marker(session))), "marker")
        assert not marker.end_ms
        assert marker.last_seen_ms == Recording(RAY_2_60).clock(recordings.LIVE).time_ms()

    asyncio.run(check())
