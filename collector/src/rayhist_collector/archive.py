"""The `archive` sink: sealed files go into the configured store, each under its own key."""

from __future__ import annotations

import asyncio

import msgspec

from rayhist import layout
from rayhist.errors import BadIdentifier, Denied, NotFound
from rayhist.hookspecs import hookimpl
from rayhist.kinds import SinkKind
from rayhist.sink import Sealed, Sink, SinkContext
from rayhist.storage import Store

_SMALL_BYTES = 4 << 20


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of the `archive` sink."""


class Archive(Sink):
    """What the store has taken is durable."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def deliver(self, sealed: Sealed) -> None:
        if _immutable(sealed.key) and await self._has(sealed):
            return
        if sealed.size > _SMALL_BYTES:
            await self._store.put_file(sealed.key, sealed.path)
            return
        # In one read, since a small document may be written anew at any moment.
        await self._store.put(sealed.key, await asyncio.to_thread(sealed.path.read_bytes))

    async def _has(self, sealed: Sealed) -> bool:
        try:
            return (await self._store.head(sealed.key)).size == sealed.size
        except (NotFound, Denied):  # a collector may be allowed to write only
            return False


def _immutable(key: str) -> bool:
    """A frontend's assets are the same for every cluster of a Ray version, so they are usually there."""
    try:
        return isinstance(layout.parse(key), layout.FrontendFile)
    except BadIdentifier:
        return False


def open_sink(context: SinkContext, _options: Options) -> Sink:
    return Archive(context.store)


@hookimpl
def rayhist_sink() -> SinkKind:
    return SinkKind(api=1, name="archive", options=Options, open=open_sink)
