"""Which sessions exist: the archive's markers, listed at most once per refresh interval."""

from __future__ import annotations

import asyncio

import msgspec

from rayhist import catalog
from rayhist.catalog import Listed, SessionEntry
from rayhist.clock import Clock
from rayhist.errors import ConfigError, NotFound
from rayhist.ids import Cluster, ClusterKind, Session
from rayhist.storage import Store

LATEST = "latest"
"""As a session's name in an address: the cluster's newest session."""

LAST_KNOWN = "@last-known"
"""After a session's name in an address: as it was last seen, with nothing concluded from its end."""

ABOUT = "@about"
"""Below a session's address: its own page."""

MAX_LIMIT = 1000
_KEPT_PAGES = 100


class Page(msgspec.Struct, frozen=True):
    """A page of the list: its entries, how many there are in all, and how many the search left."""

    entries: list[SessionEntry]
    total: int
    matched: int
    offset: int
    limit: int


class Address(msgspec.Struct, frozen=True):
    """What an address names: a cluster, a session's name or `latest`, and which view of that session."""

    cluster: Cluster
    session: str
    last_known: bool = False

    @classmethod
    def of(cls, cluster: Cluster, name: str) -> Address:
        """The address whose last part is `name`."""
        return cls(cluster, name.removesuffix(LAST_KNOWN), name.endswith(LAST_KNOWN))


def parse_address(path: str) -> Address:
    """Read `<kind>/<namespace>/[<owner>/]<cluster>/<session>`.  Raises `ConfigError`."""
    kind_name, *names = path.strip("/").split("/")
    try:
        kind = ClusterKind(kind_name)
        owned = kind is not ClusterKind.RAYCLUSTER
        namespace, *owner, name, session = names
        if len(owner) != owned:
            raise ValueError(f"a {kind} {'needs an' if owned else 'has no'} owner")
        return Address.of(Cluster(kind, namespace, name, *owner), session)
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
        self._listed: list[Listed] = []
        self._listed_at: float | None = None
        self._listing: asyncio.Task[list[Listed]] | None = None
        self._pages: dict[tuple[str, int, int], Page] = {}

    async def page(self, search: str, limit: int, offset: int) -> Page:
        """The sessions whose address contains every word of `search`; only their markers are read.

        Raises what the store raises: an outage is no empty list.
        """
        listed = await self._all()
        key = (search, limit, offset)
        if key not in self._pages:
            words = search.lower().split()
            matched = [one for one in listed if all(word in one.session.path for word in words)]
            entries = await catalog.entries(
                self._store,
                matched[offset : offset + limit],
                clock=self._clock,
                lost_after_s=self._lost_after_s,
            )
            if len(self._pages) >= _KEPT_PAGES:
                self._pages.clear()
            self._pages[key] = Page(entries, len(listed), len(matched), offset, limit)
        return self._pages[key]

    async def all(self) -> list[Session]:
        """All sessions, newest first.  Raises what the store raises."""
        return [one.session for one in await self._all()]

    async def resolve(self, wanted: Address) -> Session:
        """The session that an address names.  Raises `BadIdentifier`, and `NotFound` for `latest` of none."""
        if wanted.session != LATEST:
            return Session(wanted.cluster, wanted.session)
        for one in await self._all():
            if one.session.cluster == wanted.cluster:
                return one.session
        raise NotFound(f"the archive has no session of {wanted.cluster.path}")

    async def entry(self, session: Session) -> SessionEntry | None:
        """What the list shows of one session.  Raises what the store raises."""
        listed = [one for one in await self._all() if one.session == session]
        entries = await catalog.entries(
            self._store, listed, clock=self._clock, lost_after_s=self._lost_after_s
        )
        return next(iter(entries), None)

    async def close(self) -> None:
        if self._listing is not None:
            self._listing.cancel()
            await asyncio.gather(self._listing, return_exceptions=True)

    async def _all(self) -> list[Listed]:
        now = self._clock.monotonic()
        if self._listed_at is not None and now - self._listed_at < self._refresh_interval_s:
            return self._listed
        if self._listing is None:
            self._listing = asyncio.create_task(self._list())
            self._listing.add_done_callback(_seen)
        return await asyncio.shield(self._listing)

    async def _list(self) -> list[Listed]:
        try:
            self._listed = await catalog.listed(self._store)
            self._listed_at = self._clock.monotonic()
            self._pages.clear()
            return self._listed
        finally:
            self._listing = None


def _seen(task: asyncio.Task[list[Listed]]) -> None:
    """Look at a failure, so that one that nobody waited for any more is not complained about."""
    if not task.cancelled():
        task.exception()


def address(session: Session) -> str:
    """The session's address on this server, from its root."""
    return f"/s/{session.path}/"
