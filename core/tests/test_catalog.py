"""The list of recorded sessions: newest first, read no more than needed, honest about what is not known."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from rayhist import catalog, layout
from rayhist.catalog import State
from rayhist.errors import NotFound, Unavailable
from rayhist.ids import Cluster, ClusterKind, Session
from rayhist.manifest import Ending, JobSummary, SessionMarker
from rayhist.memory import MemoryStore
from rayhist_testkit.recordings import StoppedClock

NOW_MS = 1_796_060_000_000
CLUSTER = Cluster(ClusterKind.RAYCLUSTER, "team-a", "ray")
OWNED = Cluster(ClusterKind.RAYJOB, "team-a", "ray", "nightly")


class CountingStore(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self.read: list[str] = []

    async def get(self, key: str, *, start: int = 0, end: int | None = None) -> bytes:
        self.read.append(key)
        return await super().get(key, start=start, end=end)


def session(day: int, cluster: Cluster = CLUSTER) -> Session:
    return Session(cluster, f"session_2026-11-{day:02}_15-30-13_707929_1")


def put(store: MemoryStore, one: Session, marker: SessionMarker | bytes) -> None:
    body = marker if isinstance(marker, bytes) else msgspec.json.encode(marker)
    asyncio.run(store.put(layout.key(layout.Marker(one)), body))


def listed(store: MemoryStore, **options: Any) -> list[catalog.SessionEntry]:
    return asyncio.run(catalog.sessions(store, clock=StoppedClock(NOW_MS), **options))


def test_sessions_come_newest_first_whatever_their_cluster() -> None:
    """By the start in the marker, which is UTC; the name has the head's local time."""
    store = MemoryStore()
    put(store, session(3), SessionMarker(start_ms=30))
    put(store, session(4, OWNED), SessionMarker(start_ms=40))
    put(store, session(5), SessionMarker(start_ms=35))

    assert [(one.session, one.start_ms, one.start_is_approximate) for one in listed(store)] == [
        (session(4, OWNED), 40, False),
        (session(5), 35, False),
        (session(3), 30, False),
    ]


def test_only_the_markers_of_the_sessions_shown_are_read() -> None:
    store = CountingStore()
    for day in range(1, 21):
        put(store, session(day), SessionMarker(start_ms=day))
    found = listed(store, limit=3)

    assert [one.start_ms for one in found] == [20, 19, 18]
    assert sorted(store.read) == [layout.key(layout.Marker(session(day))) for day in (18, 19, 20)]


@pytest.mark.parametrize(
    ("marker", "state"),
    [
        (SessionMarker(last_seen_ms=NOW_MS - 60_000), State.RUNNING),
        (SessionMarker(last_seen_ms=NOW_MS - 121_000), State.LOST),
        (SessionMarker(last_seen_ms=NOW_MS - 121_000, heartbeat_interval_s=60), State.RUNNING),
        (SessionMarker(last_seen_ms=NOW_MS - 181_000, heartbeat_interval_s=60), State.LOST),
        (SessionMarker(last_seen_ms=NOW_MS, end_ms=NOW_MS, ending=Ending.CLEAN), State.ENDED),
        (SessionMarker(last_seen_ms=5, end_ms=6, ending=Ending.REPLACED), State.ENDED),
        (SessionMarker(), State.UNKNOWN),
    ],
)
def test_the_state_is_what_the_heartbeat_says(marker: SessionMarker, state: State) -> None:
    """Silence is loss only after three missed heartbeats."""
    store = MemoryStore()
    put(store, session(3), marker)

    assert [one.state for one in listed(store)] == [state]


def test_a_job_that_went_on_when_the_cluster_was_lost_is_not_listed_as_running() -> None:
    store = MemoryStore()
    jobs = [JobSummary("01000000", "RUNNING"), JobSummary("02000000", "SUCCEEDED")]
    put(store, session(3), SessionMarker(last_seen_ms=NOW_MS - 3_600_000, jobs=jobs))
    put(store, session(4), SessionMarker(last_seen_ms=NOW_MS, jobs=jobs))

    found = {one.session: [job.status for job in one.jobs] for one in listed(store)}

    assert found == {session(3): ["FAILED", "SUCCEEDED"], session(4): ["RUNNING", "SUCCEEDED"]}


@pytest.mark.parametrize("body", [b"", b"\n", b"{not json", b'{"start_ms": "soon"}'])
def test_an_empty_or_damaged_marker_still_lists_its_session(body: bytes) -> None:
    """KubeRay's are empty; the start is then read off the name, and called approximate."""
    store = MemoryStore()
    put(store, session(3), body)
    [found] = listed(store)

    assert (found.state, found.start_is_approximate) == (State.UNKNOWN, True)
    assert found.start_ms == 1793719813707  # 2026-11-03 15:30:13.707 UTC
    assert found.last_seen_ms > found.start_ms


def test_a_name_that_is_no_time_gives_no_start() -> None:
    store = MemoryStore()
    put(store, Session(CLUSTER, "session_2026-13-45_99-99-99_000000"), b"")

    assert [one.start_ms for one in listed(store)] == [0]


def test_keys_that_are_no_markers_are_passed_over() -> None:
    store = MemoryStore()
    put(store, session(3), SessionMarker(jobs=[JobSummary("01000000", "RUNNING")]))
    for key in ("cluster-metadata/raycluster/a_b/x", "cluster-metadata/pod/a_b/y", "cluster-metadata/z"):
        asyncio.run(store.put(key, b"?"))

    assert [one.marker.jobs[0].id for one in listed(store)] == ["01000000"]


def test_the_latest_session_is_the_clusters_own() -> None:
    """A cluster whose name begins like this one's, or in another namespace, has sessions of its own."""
    store = MemoryStore()
    others = [Cluster(ClusterKind.RAYCLUSTER, *names) for names in (("team-a", "ray-b"), ("b", "ray"))]
    newer = [session(9, OWNED), *(session(8, other) for other in others)]
    for one in (session(3), session(4), session(2), *newer):
        put(store, one, b"")

    assert asyncio.run(catalog.latest(store, CLUSTER)) == session(4)
    with pytest.raises(NotFound, match="no session of raycluster/c/ray"):
        asyncio.run(catalog.latest(store, Cluster(ClusterKind.RAYCLUSTER, "c", "ray")))


def test_an_outage_is_no_empty_list() -> None:
    class Down(MemoryStore):
        async def get(self, key: str, *, start: int = 0, end: int | None = None) -> bytes:
            raise Unavailable("the store is down")

    store = Down()
    put(store, session(3), SessionMarker())

    with pytest.raises(Unavailable):
        listed(store)
