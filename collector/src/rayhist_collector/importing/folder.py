"""Importing a folder: each node's logs of each session, as far as they are there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from rayhist.ids import Session
from rayhist.manifest import Loss, NodeManifest, SessionMarker
from rayhist.redaction import Redactor
from rayhist_collector.importing.context import Import
from rayhist_collector.importing.filing import Filing, LogContent
from rayhist_collector.importing.tree import NodeLogs
from rayhist_collector.log_scan import Scan, scan
from rayhist_collector.tail import Mask

_PIECE_BYTES = 1 << 20
_NO_EVENTS = (
    "It was imported from log files, so there are no events: no tasks, actors and workers, and of jobs what"
    " Ray's export files say."
)


class FolderImport:
    """Files what `tree.find` found."""

    def __init__(self, context: Import) -> None:
        self._context = context
        self._mask = context.mask
        self._say = context.say

    async def run(
        self, nodes: list[NodeLogs], what: str, left_out: Counter[str], ray_version: str
    ) -> list[Session]:
        """File them, session by session; returns the sessions.  Raises what the store raises."""
        by_session: dict[str, list[NodeLogs]] = {}
        for node in nodes:
            by_session.setdefault(node.session, []).append(node)
        filed = []
        for name, members in sorted(by_session.items()):
            filed.append(await self._session(name, members, what, left_out, ray_version))
        return filed

    async def _session(
        self, name: str, nodes: list[NodeLogs], what: str, left_out: Counter[str], ray_version: str
    ) -> Session:
        session = Session(self._context.cluster, name)
        filing = Filing(self._context.store, session)
        known = await filing.known()
        self._say(f"{session.path}: {len(nodes)} nodes")
        for node in nodes:
            await self._node(filing, node, left_out)
        heads = [node.node for node in nodes if node.role == "head"]
        last_ms = max(node.last_sign_ms for node in nodes)
        made = SessionMarker(
            ray_version=ray_version or max(node.ray_version for node in nodes),
            head_node=heads[-1] if heads else "",
            start_ms=min(filter(None, (node.start_ms for node in nodes)), default=0),
            last_seen_ms=last_ms,
            end_ms=last_ms,
            imported=f"Imported from {what}: logs of {len(nodes)} nodes, no events, no dashboard answers.",
        )
        await filing.marker(made, known)
        self._say(
            f"  {filing.filed.objects} objects written ({filing.filed.bytes:,} bytes),"
            f" {filing.filed.there} were there already"
        )
        for missing in _missing(nodes, made):
            self._say(f"  {missing}")
        return session

    async def _node(self, filing: Filing, node: NodeLogs, left_out: Counter[str]) -> None:
        found = scan(node.logs)
        start_ms = node.start_ms or node.last_sign_ms
        stored = await filing.logs(
            node.node, start_ms, self._contents(node.logs, found), self._context.progress
        )
        losses = [Loss(f"logs/{path}", reason, 1) for path, reason in sorted(found.problems.items())]
        losses += [Loss("files of the archive", reason, count) for reason, count in sorted(left_out.items())]
        await filing.node(
            NodeManifest(
                node_id=node.node,
                ip=node.ip,
                role=node.role,
                start_ms=node.start_ms,
                last_seen_ms=node.last_sign_ms,
                end_ms=node.last_sign_ms,
                logs=stored,
                losses=losses,
                warnings=[_NO_EVENTS, *node.remarks],
            )
        )
        size = sum(one.bytes for one in stored.values())
        self._say(f"  node {node.node[:12]}… ({node.role}): {len(stored)} log files, {size:,} bytes")
        for text in (*node.remarks, *(f"{loss.what}: {loss.reason} ({loss.count})" for loss in losses)):
            self._say(f"    {text}")

    def _contents(self, logs: Path, found: Scan) -> Iterator[LogContent]:
        for entry in found.entries:
            if entry.folder:
                yield LogContent(entry.path, None)
            elif reason := _unreadable(logs / entry.path):
                found.problems[entry.path] = reason
            elif self._mask is not None and self._mask.concerns(entry.path):
                yield LogContent(entry.path, partial(_masked, logs / entry.path, self._mask))
            else:
                yield LogContent(entry.path, partial(_read, logs / entry.path, entry.size))


def mask_of(redactor: Redactor | None, patterns: tuple[str, ...]) -> Mask | None:
    return Mask(patterns, redactor.mask) if redactor else None


def _unreadable(path: Path) -> str:
    try:
        with path.open("rb"):
            return ""
    except OSError as error:
        return str(error.strerror)


def _read(path: Path, size: int) -> Iterator[bytes]:
    """At most what the scan saw, so that a log which is still written to does not go on for ever."""
    try:
        with path.open("rb") as file:
            while size > 0 and (piece := file.read(min(size, _PIECE_BYTES))):
                yield piece
                size -= len(piece)
    except OSError:
        return


def _masked(path: Path, mask: Mask) -> Iterator[bytes]:
    """By lines, as secrets may not be cut in two."""
    try:
        with path.open("rb") as file:
            while lines := file.readlines(_PIECE_BYTES):
                yield mask.masked(b"".join(lines))
    except OSError:
        return


def _missing(nodes: list[NodeLogs], marker: SessionMarker) -> Iterator[str]:
    yield "not there: events (tasks, actors, workers), dashboard answers (hardware, placement groups, Serve)"
    if not marker.head_node:
        yield "not there: the head's logs; import its temp dir as well, under the same cluster name"
    if not marker.ray_version:
        yield "Ray's version is unknown, so the newest frontend is shown: name it with --ray-version"
    if marker.end_ms:
        at = datetime.fromtimestamp(marker.end_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
        yield f"the last sign in the logs of {len(nodes)} nodes: {at} UTC"
