"""What the archive holds of one session: its objects by kind, listed once."""

from __future__ import annotations

import hashlib

import msgspec

from rayhist import layout
from rayhist.errors import BadIdentifier, NotFound
from rayhist.ids import Session
from rayhist.storage import ObjectInfo, Store


class Item(msgspec.Struct, frozen=True):
    """An object and what its key means."""

    info: ObjectInfo
    reference: layout.Reference


class Inventory(msgspec.Struct):
    """All objects of a session, in key order within each list."""

    session: Session
    events: list[Item] = []
    log_packs: list[Item] = []
    log_files: list[Item] = []
    manifests: list[Item] = []
    snapshots: list[Item] = []
    endpoints: list[Item] = []
    unknown: list[str] = []
    marker: ObjectInfo | None = None

    @property
    def event_bytes(self) -> int:
        return sum(item.info.size for item in self.events)

    @property
    def nodes(self) -> list[str]:
        """Every node that recorded anything, sorted."""
        items = (*self.events, *self.log_packs, *self.log_files, *self.manifests)
        return sorted({node for item in items if (node := getattr(item.reference, "node", ""))})

    def digest(self) -> str:
        """Names this state of the inputs: changes when an object comes, goes, or is written anew."""
        state = hashlib.blake2b(digest_size=12)
        lists = (self.events, self.log_packs, self.log_files, self.manifests, self.snapshots, self.endpoints)
        infos = [item.info for one in lists for item in one]
        for info in (*infos, self.marker):
            if info is not None:
                state.update(f"{info.key}\0{info.size}\0{info.etag}\n".encode())
        return state.hexdigest()


_LISTS = {
    layout.EventFile: "events",
    layout.LogPack: "log_packs",
    layout.LogFile: "log_files",
    layout.NodeManifest: "manifests",
    layout.SnapshotFile: "snapshots",
    layout.FetchedEndpoint: "endpoints",
}


async def take(store: Store, session: Session) -> Inventory:
    """List the session.  Raises `NotFound` if the archive knows nothing of it, and what the store raises."""
    found = Inventory(session)
    async for info in store.list_objects(layout.session_prefix(session)):
        if info.key.endswith("/") and not info.size:
            continue  # stands for a folder, as KubeRay's collector and many tools make them
        try:
            reference = layout.parse(info.key)
        except BadIdentifier:
            found.unknown.append(info.key)
            continue
        if isinstance(reference, layout.IndexFile):
            continue  # derived
        getattr(found, _LISTS[type(reference)]).append(Item(info, reference))
    try:
        found.marker = await store.head(layout.key(layout.Marker(session)))
    except NotFound:
        if not (found.events or found.nodes or found.endpoints or found.snapshots):
            raise NotFound(f"the archive has no session {session.path}") from None
    return found
