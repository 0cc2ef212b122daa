"""When and how a session ended; a cluster's end is not announced, so it is concluded."""

from __future__ import annotations

from collections.abc import Mapping

from rayhist.manifest import Ending, NodeManifest, SessionMarker
from rayhist.replay.context import End
from rayhist.replay.inventory import Inventory

_HEARTBEATS_MISSED = 3
_SHUT_DOWN = "The cluster was shut down."
_REASONS = {
    Ending.RUNNING: _SHUT_DOWN,
    Ending.CLEAN: _SHUT_DOWN,
    Ending.REPLACED: "Another session followed in the same place.",
    Ending.IMPORTED: "How it ended is unknown; this is the last sign of it that was imported.",
}
_IMPORTED_ALIVE = "It was imported while it went on; what came later is unknown."


def decide(
    inventory: Inventory,
    marker: SessionMarker,
    manifests: Mapping[str, NodeManifest],
    now_ms: int,
    lost_after_s: float,
) -> End:
    """Conclude from the marker, the nodes' manifests, and the times of the archive's objects."""
    if marker.end_ms:
        return End(ended=True, at_ms=marker.end_ms, reason=_REASONS[marker.ending])
    if marker.ending is Ending.IMPORTED:
        return End(ended=False, at_ms=marker.last_seen_ms, reason=_IMPORTED_ALIVE)
    seen = last_seen_ms(inventory, marker, manifests)
    if seen and marker.last_seen_ms and not overdue(seen, marker, now_ms, lost_after_s):
        return End(ended=False, at_ms=seen, reason="")
    return End(ended=True, at_ms=seen, reason="The cluster was lost: it ended without saying so.")


def overdue(seen_ms: int, marker: SessionMarker, now_ms: int, lost_after_s: float) -> bool:
    """Whether a session last heard of at `seen_ms` counts as lost now."""
    patience_s = max(lost_after_s, _HEARTBEATS_MISSED * marker.heartbeat_interval_s)
    return now_ms - seen_ms > patience_s * 1000


def last_seen_ms(inventory: Inventory, marker: SessionMarker, manifests: Mapping[str, NodeManifest]) -> int:
    """The last sign of life, epoch milliseconds: a heartbeat, or else the newest object's time."""
    said = max([marker.last_seen_ms, *(one.last_seen_ms for one in manifests.values())])
    if said:
        return said
    items = (*inventory.events, *inventory.log_packs, *inventory.log_files, *inventory.endpoints)
    times = [item.info.modified for item in items if item.info.modified]
    return int(max(times).timestamp() * 1000) if times else 0
