"""A recording laid out as KubeRay's collector (v1.6 to v1.8) writes it: less than ours, and spelt otherwise.

Empty markers; whole log files; events in plain JSON lines, gzip'd ones, or (older) one array per file; of the
dashboard's answers only those that it polls by default; no manifests, no snapshots; and on S3 an empty object
with a `/` at the end of its key for each folder.
"""

from __future__ import annotations

import gzip
import re
from collections import defaultdict
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from rayhist import events, layout
from rayhist.ids import Cluster, IdKind, Session, hex_from_base64
from rayhist.memory import MemoryStore
from rayhist.storage import ObjectInfo, Store
from rayhist_testkit.recordings import CLUSTER, Recording, job_of

_EVENTS_PER_FILE = 500
_POLLED = re.compile(
    r"/timezone|/api/v0/(cluster_metadata|placement_groups\?detail=1&limit=10000)"
    r"|/api/serve/applications/|/api/data/datasets/[0-9a-f]{8}"
)


class EventForm(StrEnum):
    """How event files are written: by the file's suffix."""

    LINES = ".jsonl"
    GZIP = ".jsonl.gz"
    ARRAY = ""


class BucketStore(MemoryStore):
    """A store that lists the empty objects that stand for folders, as a bucket does."""

    async def list_objects(self, prefix: str = "", *, after: str = "") -> AsyncIterator[ObjectInfo]:
        folders: set[str] = set()
        async for info in super().list_objects(prefix, after=after):
            parts = info.key.split("/")
            for depth in range(1, len(parts)):
                folder = "/".join(parts[:depth]) + "/"
                if folder not in folders and folder.startswith(prefix):
                    folders.add(folder)
                    yield ObjectInfo(key=folder, size=0, modified=info.modified)
            yield info


async def lay_out(
    store: Store,
    folder: Path,
    *,
    cluster: Cluster = CLUSTER,
    form: EventForm = EventForm.LINES,
    logs: bool = False,
) -> Session:
    """Write the recording to the store as KubeRay's collector would have when the cluster was deleted.

    `logs` adds the log files, which takes longer.
    """
    recording = Recording(folder)
    first = events.decode(recording.all_events[0])
    session = Session(cluster, first.session_name)
    await store.put(layout.key(layout.Marker(session)), b"")
    await _put_events(store, session, recording.all_events, form)
    await _put_answers(store, session, recording)
    if logs:
        for node, path, content in recording.logs():
            await store.put(layout.key(layout.LogFile(session, node, path)), content)
    return session


async def _put_events(store: Store, session: Session, lines: list[bytes], form: EventForm) -> None:
    """Events of a node in `node_events`, but those of a job in the job's folder."""
    files: dict[tuple[str, str], list[tuple[int, bytes]]] = defaultdict(list)
    for line in lines:
        event = events.decode(line)
        node = hex_from_base64(IdKind.NODE, event.node_id)
        files[node, job_of(event)].append((events.timestamp_ns(event.timestamp), line))
    for (node, job), found in files.items():
        for start in range(0, len(found), _EVENTS_PER_FILE):
            part = found[start : start + _EVENTS_PER_FILE]
            at_ns = part[0][0] + start
            hour = datetime.fromtimestamp(at_ns // 1_000_000_000, UTC).strftime("%Y-%m-%d-%H")
            reference = layout.EventFile(session, node, job, hour, at_ns, form)
            await store.put(layout.key(reference), _written([line for _, line in part], form))


def _written(lines: list[bytes], form: EventForm) -> bytes:
    if form is EventForm.ARRAY:
        return b"[" + b",".join(lines) + b"]"
    text = b"".join(line + b"\n" for line in lines)
    return gzip.compress(text, mtime=0) if form is EventForm.GZIP else text


async def _put_answers(store: Store, session: Session, recording: Recording) -> None:
    """The last good answer of each; one without content never takes the place of one with."""
    kept: dict[str, bytes] = {}
    for moment in recording.moments:
        for answer in recording.answers(moment):
            if _POLLED.fullmatch(answer.path) and answer.status == 200 and not answer.browser:
                body = bytes(answer.json)
                if b'"datasets":[]' not in body.replace(b" ", b"") or answer.path not in kept:
                    kept[answer.path] = body
    for path, body in kept.items():
        name = "restful__" + path.strip("/").replace("/", "__")
        await store.put(f"{layout.session_prefix(session)}fetched_endpoints/{name}", body)
