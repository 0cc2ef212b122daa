"""Stand-in for the core's catalogue."""

from __future__ import annotations

import msgspec

from rayhist import layout, manifest
from rayhist.errors import BadIdentifier, DataError, NotFound
from rayhist.ids import Session
from rayhist.replay.ending import overdue
from rayhist.storage import Store


class SessionEntry(msgspec.Struct, frozen=True):
    session: Session
    marker: manifest.SessionMarker
    state: str


async def list_sessions(store: Store, now_ms: int, lost_after_s: float) -> list[SessionEntry]:
    found = []
    async for info in store.list_objects(layout.metadata_prefix()):
        try:
            reference = layout.parse(info.key)
        except BadIdentifier:
            continue
        if not isinstance(reference, layout.Marker):
            continue
        try:
            marker = manifest.read_marker(await store.get(info.key), info.key)
        except (DataError, NotFound):
            marker = manifest.SessionMarker()
        if marker.end_ms:
            state = marker.ending.value
        elif marker.last_seen_ms and not overdue(marker.last_seen_ms, marker, now_ms, lost_after_s):
            state = "running"
        else:
            state = "lost"
        found.append(SessionEntry(reference.session, marker, state))
    return sorted(found, key=lambda one: (one.marker.start_ms, one.session.name), reverse=True)
