"""The sentences of the completeness report: what is missing, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rayhist.manifest import Ending, Loss, NodeManifest, Stored
from rayhist.replay.context import End
from rayhist.replay.report import Report
from rayhist.replay.status import moment

NO_MANIFEST = "It has no manifest, so nothing tells what it lost."
_NO_MANIFESTS = (
    "No node left a manifest (KubeRay's collector writes none), so nothing tells what was lost before it"
    " reached the archive."
)


def of_session(report: Report, *, any_manifest: bool) -> Iterator[str]:
    """What concerns the session as a whole, or no node in particular."""
    if report.damaged:
        yield f"{len(report.damaged):,} objects of the archive cannot be read in full."
    if report.bad_events:
        yield f"{report.bad_events:,} events cannot be understood."
    if not report.events:
        yield "There are no events."
    if not any_manifest:
        yield _NO_MANIFESTS
    yield from report.problems


def of_node(
    manifest: NodeManifest | None, events: Mapping[str, Stored], log_files: int, end: End
) -> Iterator[str]:
    """What is missing of a node by its manifest, and by what there is none of."""
    if manifest is None and not events and not log_files:
        yield "It recorded nothing: no collector ran beside it, or none of what it recorded arrived."
        return
    if not log_files:
        yield "It has no log files."
    if manifest is None:
        if not events:
            yield "It has no events."
        return
    yield from (_loss(loss) for loss in manifest.losses)
    yield from manifest.warnings
    if end.ended and manifest.ending is Ending.RUNNING:
        yield (
            f"Its collector ended without a word; it was last heard of at {moment(manifest.last_seen_ms)}."
            " What happened there later may be missing."
        )
    if end.ended and manifest.pending_bytes:
        yield f"{manifest.pending_bytes:,} bytes were still on its disk when it was last heard of."


def not_arrived(manifest: NodeManifest, events: Mapping[str, Stored], log_bytes: int) -> Iterator[str]:
    """What the manifest says was recorded and shipped, and is not in the archive."""
    recorded, read = _count(manifest.events), _count(events)
    if recorded > read:
        yield f"{recorded - read:,} of the {recorded:,} events that it recorded are not in the archive."
    shipped = sum(stored.bytes for stored in manifest.logs.values())
    if shipped > log_bytes:
        lost = shipped - log_bytes
        yield f"{lost:,} of the {shipped:,} bytes of logs that it recorded are not in the archive."


def verdict(session: Sequence[str], nodes: Sequence[Sequence[str]], *, ended: bool) -> str:
    """One sentence: whether anything is missing, and of what kind."""
    state = "" if ended else "The session goes on. "
    lacking = sum(map(bool, nodes))
    if not session and not lacking:
        number = "the only node" if len(nodes) == 1 else f"all {len(nodes):,} nodes"
        return f"{state}Complete: everything of {number} is here, and nothing is known to be lost."
    reasons = [session[0].rstrip(".")] if session else []
    if len(session) > 1:
        reasons.append(f"{len(session) - 1:,} more of the session is missing or unknown")
    if lacking:
        reasons.append(f"something of {lacking:,} of {len(nodes):,} nodes is missing")
    return f"{state}Incomplete: {'; '.join(reasons)}."


def _loss(loss: Loss) -> str:
    when = f", from {moment(loss.first_ms)} to {moment(loss.last_ms)}" if loss.first_ms else ""
    return f"Lost: {loss.count:,} of {loss.what} ({loss.reason}){when}."


def _count(events: Mapping[str, Stored]) -> int:
    return sum(stored.count for stored in events.values())
