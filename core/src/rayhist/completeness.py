"""What of a session is there, what is not, and why: the completeness report, made from an index.

A node's collector says in its manifest what it recorded and what it lost; the archive says what arrived.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace

from rayhist import gaps
from rayhist.index import Index
from rayhist.manifest import Ending, Loss, NodeManifest, Stored
from rayhist.replay.context import End
from rayhist.replay.report import Report


class Logs(msgspec.Struct, frozen=True):
    """The log files of a node: how many, their bytes, and how many of these the archive lacks."""

    files: int = 0
    bytes: int = 0
    missing_bytes: int = 0


class NodeRecord(msgspec.Struct, frozen=True):
    """What is known of one node's recording.  Times are epoch milliseconds, UTC; 0 for unknown."""

    node_id: str
    ip: str = ""
    hostname: str = ""
    role: str = ""
    """`head` or `worker`."""
    has_manifest: bool = False
    """Whether its collector said what it recorded; KubeRay's collector never does."""
    ending: Ending = Ending.RUNNING
    """How its collector ended; empty while it runs, or if it ended without a word."""
    start_ms: int = 0
    last_seen_ms: int = 0
    events: dict[str, Stored] = {}
    """By event type: what was read from the archive."""
    logs: Logs = Logs()
    losses: list[Loss] = []
    """What its collector could not record, and what Ray itself had dropped before."""
    warnings: list[str] = []
    pending_bytes: int = 0
    """What was recorded, but on the node's disk only, when it was last heard of."""
    gaps: list[str] = []
    """What is missing of this node, and why, in sentences."""


class Completeness(msgspec.Struct, frozen=True):
    """Whether all of a session is there."""

    complete: bool
    """Nothing is known to be missing."""
    verdict: str
    """One sentence for the user."""
    gaps: list[str]
    """What is missing of the session as a whole, and why, in sentences; `NodeRecord.gaps` has the rest."""
    nodes: list[NodeRecord]
    """The head first, then as the dashboard lists them."""


class _Raylet(msgspec.Struct, rename="camel"):
    is_head_node: bool = False


class _Node(msgspec.Struct):
    """What a node's summary says of its identity."""

    ip: str = ""
    hostname: str = ""
    raylet: _Raylet = msgspec.field(default_factory=_Raylet)


def report(index: Index) -> Completeness:
    """The completeness report of a session.  Raises `DataError` if the index is damaged."""
    end = msgspec.convert(index.meta("end"), End)
    found = msgspec.convert(index.meta("report"), Report)
    manifests = msgspec.convert(index.meta("manifests"), dict[str, NodeManifest])
    nodes = sorted(_nodes(index, found, manifests, end), key=lambda node: node.role != "head")
    missing = list(gaps.of_session(found, any_manifest=bool(manifests)))
    verdict = gaps.verdict(missing, [node.gaps for node in nodes], ended=end.ended or bool(end.reason))
    complete = not missing and not any(node.gaps for node in nodes)
    return Completeness(complete=complete, verdict=verdict, gaps=missing, nodes=nodes)


def _nodes(
    index: Index, found: Report, manifests: Mapping[str, NodeManifest], end: End
) -> Iterator[NodeRecord]:
    known = {node: msgspec.json.decode(body, type=_Node) for node, body in index.documents("node.summary")}
    logs = {node: Logs(*counts) for node, *counts in index.read(_LOGS)}
    for node in dict.fromkeys([*known, *sorted({*manifests, *logs, *found.recorded})]):
        record = _record(node, known.get(node, _Node()), manifests.get(node))
        record = replace(record, events=found.recorded.get(node, {}), logs=logs.get(node, Logs()))
        missing = [*_missing(record, manifests, end), *_holes(index, record)]
        yield replace(record, gaps=missing)


_LOGS = "SELECT node, count(*), sum(size), sum(missing) FROM log_files GROUP BY node"
_LACKING = """SELECT path, size, missing FROM log_files WHERE node = ? AND missing > 0
    ORDER BY missing DESC, path LIMIT ?"""
_SHOWN_FILES = 20


def _record(node: str, known: _Node, manifest: NodeManifest | None) -> NodeRecord:
    said = manifest or NodeManifest()
    return NodeRecord(
        node_id=node,
        ip=known.ip or said.ip,
        hostname=known.hostname or said.hostname,
        role="head" if known.raylet.is_head_node else said.role or "worker",
        has_manifest=manifest is not None,
        ending=said.ending,
        start_ms=said.start_ms,
        last_seen_ms=said.end_ms or said.last_seen_ms,
        losses=said.losses,
        warnings=said.warnings,
        pending_bytes=said.pending_bytes,
    )


def _missing(record: NodeRecord, manifests: Mapping[str, NodeManifest], end: End) -> Iterator[str]:
    manifest = manifests.get(record.node_id)
    yield from gaps.of_node(manifest, record.events, record.logs.files, end)
    if manifest is None and manifests and (record.events or record.logs.files):
        yield gaps.NO_MANIFEST
    elif manifest is not None and not manifest.pending_bytes:
        yield from gaps.not_arrived(manifest, record.events, record.logs.bytes - record.logs.missing_bytes)


def _holes(index: Index, record: NodeRecord) -> Iterator[str]:
    """The log files that lack most, each with how much."""
    if record.logs.missing_bytes:
        for path, size, missing in index.read(_LACKING, (record.node_id, _SHOWN_FILES)):
            yield f"The log file {path} lacks {missing:,} of its {size:,} bytes."
