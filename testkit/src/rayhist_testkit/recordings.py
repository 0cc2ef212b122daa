"""Recordings of real Ray clusters: read one, and lay it out as an archive in a store.

The recordings of this project stand in `tests/recordings/`, whose README says what their files hold.
"""

from __future__ import annotations

import base64
import lzma
import re
import tarfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from rayhist import codec, events, layout
from rayhist.clock import Clock
from rayhist.ids import Cluster, ClusterKind, IdKind, Session, hex_from_base64
from rayhist.manifest import Ending, NodeManifest, SessionMarker
from rayhist.source import Answer
from rayhist.storage import Store

RAY_2_60 = Path(__file__).parents[3] / "tests" / "recordings" / "ray-2.60.0"
"""In a checkout of this project; recordings are not part of any distribution."""

LIVE = "live"
AFTER_NODE_DEATH = "after-node-death"
END = "end"
"""After the last event; there are no answers of this moment."""

CLUSTER = Cluster(ClusterKind.RAYCLUSTER, "recorded", "cluster")

_EVENTS_PER_FILE = 250
_HEARTBEAT_S = 30.0
_POLLED = re.compile(
    r"/nodes\?view=summary|/nodes/[0-9a-f]{56}|/logical/actors|/events|/timezone|/cluster_id"
    r"|/api/(jobs/|version|serve/applications/|cluster_status(\?format=1)?|data/datasets/[0-9a-f]{8})"
    r"|/api/train/v2/runs/v1|/api/v0/cluster_metadata"
    r"|/api/v0/(placement_groups|workers|objects|runtime_envs)\?detail=1&limit=10000"
)
"""What a collector polls; the other answers are only there to be compared with."""


class RecordedAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """One request and what the dashboard answered: the body as JSON, as text or as base64."""

    group: str
    method: str
    path: str
    """With the query."""
    browser: bool
    """Whether the request looked like a browser's; Ray redacts those answers."""
    at_ms: int
    """Whole seconds only."""
    status: int
    content_type: str
    content_disposition: str = ""
    json: msgspec.Raw = msgspec.Raw()
    text: str | None = None
    base64: str | None = None

    @property
    def value(self) -> Any:
        """The decoded JSON body."""
        return msgspec.json.decode(self.json)

    @property
    def body(self) -> bytes:
        """The body of an answer that is no JSON."""
        return base64.b64decode(self.base64) if self.base64 is not None else (self.text or "").encode()


class Moment(msgspec.Struct, frozen=True):
    """When the answers of a moment were taken, epoch ms, and how many events had arrived before and after."""

    first_ms: int
    last_ms: int
    events_before: int
    events_until: int


class _Facts(msgspec.Struct):
    ids: dict[str, str | int]
    passes: dict[str, Moment]


class Recording:
    """One recorded session."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        facts = msgspec.json.decode((folder / "recording.json").read_bytes(), type=_Facts)
        self.moments = facts.passes
        self.ids: dict[str, str] = {name: str(value) for name, value in facts.ids.items()}
        """Label → id, e.g. `task.retried`, `actor.restarted`, `submission.ok`."""

    @cached_property
    def all_events(self) -> list[bytes]:
        """Every event, in order of arrival."""
        return self._lines("events.jsonl.xz")

    def events(self, moment: str = END) -> list[bytes]:
        """The events that had arrived when the answers of the moment had been taken."""
        until = None if moment == END else self.moments[moment].events_until
        return self.all_events[:until]

    def answers(self, moment: str = LIVE) -> list[RecordedAnswer]:
        lines = self._lines(f"answers-{moment}.jsonl.xz")
        return [msgspec.json.decode(line, type=RecordedAnswer) for line in lines]

    def answer(self, path: str, moment: str = LIVE) -> RecordedAnswer:
        """The last answer to `GET path`; one that no browser asked for, if there is one."""
        found = [one for one in self.answers(moment) if (one.method, one.path) == ("GET", path)]
        return _unredacted(found)

    def logs(self) -> Iterator[tuple[str, str, bytes]]:
        """Node id, path below `logs/`, and content of every log file."""
        with tarfile.open(self.folder / "logs.tar.xz") as archive:
            for member in archive:
                file = archive.extractfile(member)
                if file is not None:
                    node, _, path = member.name.partition("/")
                    yield node, path, file.read()

    def clock(self, moment: str) -> Clock:
        """A clock that shows the moment for ever, so that a session that went on then is seen as going on."""
        return StoppedClock(self.moments[moment].last_ms)

    def _lines(self, name: str) -> list[bytes]:
        return lzma.decompress((self.folder / name).read_bytes()).splitlines()


class StoppedClock(Clock):
    """Shows one time, epoch milliseconds."""

    def __init__(self, now_ms: int) -> None:
        self._now_ms = now_ms

    def time_ns(self) -> int:
        return self._now_ms * 1_000_000

    def monotonic(self) -> float:
        return self._now_ms / 1000

    async def sleep(self, seconds: float) -> None:
        """Return at once."""


async def lay_out(
    store: Store,
    folder: Path,
    *,
    moment: str = END,
    cluster: Cluster = CLUSTER,
    logs: bool = False,
) -> Session:
    """Write the recording to the store as a collector would have, and return its session.

    Until `END` the session has ended cleanly; at an earlier moment it goes on, as long as the reader's
    clock (`Recording.clock`) is not far beyond that moment.  `logs` adds the log files, which takes longer.
    """
    recording = Recording(folder)
    posted = recording.events(moment)
    decoded = [(line, events.decode(line)) for line in posted]
    session = Session(cluster, decoded[0][1].session_name)
    nodes = _manifests(event for _, event in decoded)
    await _put_marker(store, session, recording, moment, decoded)
    for node, manifest in nodes.items():
        key = layout.key(layout.NodeManifest(session, node))
        await store.put(key, msgspec.json.encode(manifest))
    await _put_events(store, session, decoded)
    for index, taken in enumerate(recording.moments):
        if moment in (END, taken) or recording.moments[taken].last_ms < recording.moments[moment].first_ms:
            await _put_answers(store, session, recording.answers(taken), index)
    if logs:
        for node, path, content in recording.logs():
            await store.put(layout.key(layout.LogFile(session, node, path)), content)
    return session


async def put_events(store: Store, session: Session, lines: Iterable[bytes]) -> None:
    """Write events as a collector does: by reporting node and job, a few hundred to a file."""
    await _put_events(store, session, [(line, events.decode(line)) for line in lines])


async def _put_marker(
    store: Store,
    session: Session,
    recording: Recording,
    moment: str,
    decoded: list[tuple[bytes, events.Event]],
) -> None:
    times = [events.timestamp_ns(event.timestamp) // 1_000_000 for _, event in decoded]
    ended = moment == END
    last_ms = max(times) if ended else recording.moments[moment].last_ms
    head = next(
        event.driver_job_definition_event for _, event in decoded if event.driver_job_definition_event
    )
    marker = SessionMarker(
        ray_version=recording.folder.name.removeprefix("ray-"),
        head_node=hex_from_base64(IdKind.NODE, head.driver_node_id),
        start_ms=min(times),
        last_seen_ms=last_ms,
        heartbeat_interval_s=_HEARTBEAT_S,
        end_ms=last_ms if ended else 0,
        ending=Ending.CLEAN if ended else Ending.RUNNING,
        timezone="+00:00",
    )
    await store.put(layout.key(layout.Marker(session)), msgspec.json.encode(marker))


def _manifests(decoded: Iterable[events.Event]) -> dict[str, NodeManifest]:
    found: dict[str, NodeManifest] = {}
    for event in decoded:
        if (node := event.node_definition_event) is not None:
            identifier = hex_from_base64(IdKind.NODE, node.node_id)
            found[identifier] = NodeManifest(
                node_id=identifier,
                ip=node.node_ip_address,
                hostname=node.hostname,
                role="worker" if found else "head",
                start_ms=events.timestamp_ns(node.start_timestamp) // 1_000_000,
            )
    return found


async def _put_events(store: Store, session: Session, decoded: list[tuple[bytes, events.Event]]) -> None:
    files: dict[tuple[str, str], list[bytes]] = defaultdict(list)
    for line, event in decoded:
        node = hex_from_base64(IdKind.NODE, event.node_id)
        files[node, job_of(event)].append(line)
    for (node, job), lines in files.items():
        for start in range(0, len(lines), _EVENTS_PER_FILE):
            part = lines[start : start + _EVENTS_PER_FILE]
            first_ns = events.timestamp_ns(events.decode(part[0]).timestamp) + start
            hour = datetime.fromtimestamp(first_ns // 1_000_000_000, UTC).strftime("%Y-%m-%d-%H")
            reference = layout.EventFile(session, node, job, hour, first_ns)
            await store.put(layout.key(reference), codec.encode(part))


def job_of(event: events.Event) -> str:
    """The job whose file an event belongs to, in hex; `""` for none."""
    for name in event.__struct_fields__:
        if job := getattr(getattr(event, name), "job_id", ""):
            return hex_from_base64(IdKind.JOB, job)
    return ""


async def _put_answers(store: Store, session: Session, answers: list[RecordedAnswer], sequence: int) -> None:
    found: dict[str, list[RecordedAnswer]] = defaultdict(list)
    for one in answers:
        if _POLLED.fullmatch(one.path) and bytes(one.json):
            found[layout.canonical_endpoint(one.path)].append(one)
    last = {endpoint: _unredacted(all_answers) for endpoint, all_answers in found.items()}
    polled = [Answer(endpoint, one.at_ms, one.status, one.json) for endpoint, one in last.items()]
    for answer in polled:
        if answer.status == 200:
            key = layout.key(layout.FetchedEndpoint(session, answer.endpoint))
            await store.put(key, bytes(answer.body))
    key = layout.key(layout.SnapshotFile(session, min(one.fetched_at for one in polled), sequence))
    await store.put(key, codec.encode([msgspec.json.encode(one) for one in polled]))


def _unredacted(answers: list[RecordedAnswer]) -> RecordedAnswer:
    """The last one that no browser asked for, or else the last one."""
    return max(reversed(answers), key=lambda one: (not one.browser, one.at_ms))
