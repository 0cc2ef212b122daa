"""Which sessions exist: the archive's catalogue, read at most once per refresh interval."""

from __future__ import annotations

import asyncio

import msgspec

from rayhist.clock import Clock
from rayhist.errors import ConfigError, NotFound
from rayhist.ids import Cluster, ClusterKind, Session
from rayhist.storage import Store
from rayhist_server.catalog import SessionEntry, list_sessions

LATEST = "latest"
"""As a session's name in an address: the cluster's newest session."""

MAX_LIMIT = 1000


class Page(msgspec.Struct, frozen=True):
    """A page of the list: its entries, how many there are in all, and how many the search left."""

    entries: list[SessionEntry]
    total: int
    matched: int
    offset: int
    limit: int


class Address(msgspec.Struct, frozen=True):
    """What an address names: a cluster, and a session's name or `latest`."""

    cluster: Cluster
    session: str


def parse_address(path: str) -> Address:
    """Read `<kind>/<namespace>/[<owner>/]<cluster>/<session>`.  Raises `ConfigError`."""
    kind_name, *names = path.strip("/").split("/")
    try:
        kind = ClusterKind(kind_name)
        owned = kind is not ClusterKind.RAYCLUSTER
        namespace, *owner, name, session = names
        if len(owner) != owned:
            raise ValueError(f"a {kind} {'needs an' if owned else 'has no'} owner")
        return Address(Cluster(kind, namespace, name, *owner), session)
    except ValueError as error:
        raise ConfigError(
            f"not a session's address: {path!r} ({error})",
            remedy="for example raycluster/default/ray/latest; `rayhist sessions` lists them",
        ) from error


class Sessions:
    """The list of sessions, newest first.  Used on one event loop."""

    def __init__(self, store: Store, clock: Clock, *, refresh_interval_s: float, lost_after_s: float) -> None:
        self._store = store
        self._clock = clock
        self._refresh_interval_s = refresh_interval_s
        self._lost_after_s = lost_after_s
        self._entries: list[SessionEntry] = []
        self._read_at: float | None = None
        self._reading: asyncio.Task[list[SessionEntry]] | None = None

    async def entries(self) -> list[SessionEntry]:
        """All sessions.  Raises what the store raises: an outage is no empty list."""
        fresh = self._read_at is not None and (
            self._clock.monotonic() - self._read_at < self._refresh_interval_s
        )
        if fresh:
            return self._entries
        if self._reading is None:
            self._reading = asyncio.create_task(self._read())
            self._reading.add_done_callback(_seen)
        return await asyncio.shield(self._reading)

    async def page(self, search: str, limit: int, offset: int) -> Page:
        """The entries whose names or jobs contain every word of `search`."""
        everything = await self.entries()
        words = search.lower().split()
        matched = (
            [one for one in everything if all(word in text_of(one) for word in words)]
            if words
            else everything
        )
        return Page(matched[offset : offset + limit], len(everything), len(matched), offset, limit)

    async def resolve(self, wanted: Address) -> Session:
        """The session that an address names.  Raises `BadIdentifier`, and `NotFound` for `latest` of none."""
        if wanted.session != LATEST:
            return Session(wanted.cluster, wanted.session)
        for entry in await self.entries():
            if entry.session.cluster == wanted.cluster:
                return entry.session
        raise NotFound(f"the archive has no session of {wanted.cluster.path}")

    async def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    async def _read(self) -> list[SessionEntry]:
        try:
            self._entries = await list_sessions(self._store, self._clock.time_ms(), self._lost_after_s)
            self._read_at = self._clock.monotonic()
            return self._entries
        finally:
            self._reading = None


def _seen(task: asyncio.Task[list[SessionEntry]]) -> None:
    """Look at a failure, so that one that nobody waited for any more is not complained about."""
    if not task.cancelled():
        task.exception()


def address(session: Session) -> str:
    """The session's address on this server, from its root."""
    return f"/s/{session.path}/"


def text_of(entry: SessionEntry) -> str:
    """What a search looks at, in lower case."""
    marker = entry.marker
    jobs = " ".join(f"{job.id} {job.status} {job.entrypoint}" for job in marker.jobs)
    return f"{entry.session.path} {entry.state} {marker.ray_version} {jobs}".lower()
