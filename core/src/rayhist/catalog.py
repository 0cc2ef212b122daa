"""Which sessions an archive holds: its markers, listed by key, and read only for the sessions asked for."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from enum import StrEnum

import msgspec

from rayhist import layout, manifest
from rayhist.ahead import in_order
from rayhist.clock import Clock, SystemClock
from rayhist.errors import BadIdentifier, DataError, NotFound
from rayhist.ids import Cluster, Session
from rayhist.manifest import Ending, JobSummary, SessionMarker
from rayhist.replay.ending import overdue
from rayhist.storage import ObjectInfo, Store

LOST_AFTER_S = 120.0
_AT_ONCE = 16
_TIME = re.compile(r"session_(\d{4}-\d{2}-\d{2}_\d{2}-\d{2}-\d{2}_\d{6})")


class State(StrEnum):
    """What the marker says of a session; replay looks closer."""

    RUNNING = "running"
    ENDED = "ended"
    LOST = "lost"
    """Its collector has not been heard of for too long, and did not say that it ends."""
    UNKNOWN = "unknown"
    """The marker is empty, as KubeRay writes it, or damaged."""


class SessionEntry(msgspec.Struct, frozen=True):
    """One session as a list shows it; times are epoch milliseconds, UTC."""

    session: Session
    marker: SessionMarker
    state: State
    start_ms: int
    start_is_approximate: bool
    """The marker does not say, so it is read off the session's name, which has the head's local time."""
    last_seen_ms: int
    """The end, or else the last heartbeat, or else the marker's last change; 0 if nothing tells."""
    jobs: list[JobSummary]
    """The marker's; a job that still went on when the session ended has FAILED, as replay concludes."""


class Listed(msgspec.Struct, frozen=True):
    """A session whose marker has not been read yet."""

    session: Session
    info: ObjectInfo


async def listed(store: Store, prefix: str = "") -> list[Listed]:
    """All sessions, or those whose markers' keys begin with `prefix`, newest first by name.

    Keys only; keys that are no markers are left out.  Raises what the store raises.
    """
    found = []
    async for info in store.list_objects(prefix or layout.metadata_prefix()):
        with contextlib.suppress(BadIdentifier):
            reference = layout.parse(info.key)
            if isinstance(reference, layout.Marker):
                found.append(Listed(reference.session, info))
    return sorted(found, key=lambda one: (one.session.name, one.session), reverse=True)


async def sessions(
    store: Store, *, limit: int | None = None, clock: Clock | None = None, lost_after_s: float = LOST_AFTER_S
) -> list[SessionEntry]:
    """The newest sessions, at most `limit` of them, newest first.  Raises what the store raises."""
    return await entries(store, (await listed(store))[:limit], clock=clock, lost_after_s=lost_after_s)


async def entries(
    store: Store,
    chosen: Iterable[Listed],
    *,
    clock: Clock | None = None,
    lost_after_s: float = LOST_AFTER_S,
) -> list[SessionEntry]:
    """Read the markers of listed sessions; newest first.  Raises what the store raises."""
    now_ms = (clock or SystemClock()).time_ms()

    async def read(one: Listed) -> SessionEntry:
        return _entry(one, await _marker(store, one.info.key), now_ms, lost_after_s)

    async with contextlib.aclosing(in_order(chosen, read, most=_AT_ONCE)) as read_ones:
        found = [made async for _, made in read_ones]
    return sorted(found, key=lambda one: (one.start_ms, one.session), reverse=True)


async def _marker(store: Store, key: str) -> SessionMarker:
    """An empty marker if it is damaged or gone: then no more is known than that the session exists."""
    try:
        return manifest.read_marker(await store.get(key), key)
    except (DataError, NotFound):
        return SessionMarker()


def _entry(one: Listed, marker: SessionMarker, now_ms: int, lost_after_s: float) -> SessionEntry:
    changed_ms = int(one.info.modified.timestamp() * 1000) if one.info.modified else 0
    state = _state(marker, now_ms, lost_after_s)
    return SessionEntry(
        session=one.session,
        marker=marker,
        state=state,
        start_ms=marker.start_ms or named_ms(one.session),
        start_is_approximate=not marker.start_ms,
        last_seen_ms=marker.end_ms or marker.last_seen_ms or changed_ms,
        jobs=marker.jobs if state is State.RUNNING else [_ended(job) for job in marker.jobs],
    )


def _ended(job: JobSummary) -> JobSummary:
    return msgspec.structs.replace(job, status="FAILED") if job.status in {"RUNNING", "PENDING"} else job


async def latest(store: Store, cluster: Cluster) -> Session:
    """The newest session of a cluster.  Raises `NotFound` if the archive has none."""
    found = await listed(store, layout.cluster_metadata_prefix(cluster))
    if not found:
        raise NotFound(
            f"the archive has no session of {cluster.path}", remedy="`rayhist sessions` lists what there is"
        )
    return found[0].session


def _state(marker: SessionMarker, now_ms: int, lost_after_s: float) -> State:
    if marker.end_ms or marker.ending is Ending.IMPORTED:
        return State.ENDED
    if not marker.last_seen_ms:
        return State.UNKNOWN
    return State.LOST if overdue(marker.last_seen_ms, marker, now_ms, lost_after_s) else State.RUNNING


def named_ms(session: Session) -> int:
    """A session's start by its name, epoch ms: the head's local time, taken for UTC; 0 if it is no time."""
    match = _TIME.match(session.name)
    assert match is not None  # `ids` made sure
    try:
        at = datetime.strptime(match[1], "%Y-%m-%d_%H-%M-%S_%f").replace(tzinfo=UTC)
    except ValueError:
        return 0
    return int(at.timestamp() * 1000)
