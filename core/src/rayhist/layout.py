"""The storage layout, version 1: reference ⇄ key, and nothing else.

The only module that spells a path.  Everything here is pure; `parse(key(reference)) == reference` for every
reference that can be made, and a name that would not come back unchanged is refused with `BadIdentifier`.
The names KubeRay's collector (v1.7-1.8) uses are kept, so that either side reads the other's files.

    cluster-metadata/<kind>/<ns>[_<owner>]_<cluster>/<session>                  Marker
    cluster-history/<kind>/<ns>/[<owner>/]<cluster>/<session>/
      fetched_endpoints/restful__<path, "/" as "__", query kept>                FetchedEndpoint
      snapshots/<first ms>-<seq>.jsonl.gz                                       SnapshotFile
      index/<format>/<name>                                                     IndexFile
      <node>/manifest.json                                                      NodeManifest
      <node>/logs/<path>                                                        LogFile
      <node>/log_packs/<first ms>-<seq>.zip                                     LogPack
      <node>/node_events/<node>-<YYYY-MM-DD-HH>-<unix ns>[.jsonl[.gz]]          EventFile without a job
      <node>/job_events/<job>/<node>-<YYYY-MM-DD-HH>-<unix ns>[.jsonl[.gz]]     EventFile
    frontends/<ray version>/<path>                                              FrontendFile
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from rayhist import ids
from rayhist.errors import BadIdentifier
from rayhist.ids import Cluster, ClusterKind, IdKind, Session

VERSION = 1
METADATA = "cluster-metadata"
HISTORY = "cluster-history"
FRONTENDS = "frontends"

# ASCII, since other scripts' digits would come back as these; no leading zeros, for the same reason.
_HOUR = r"\d{4}-\d{2}-\d{2}-\d{2}"
_NUMBER = r"0|[1-9]\d{0,19}"
_EVENT_FILE = re.compile(rf"([0-9a-f]{{56}})-({_HOUR})-({_NUMBER})(|\.jsonl|\.jsonl\.gz)\Z", re.ASCII)
_NUMBERED = re.compile(r"(\d{13})-(\d{6}|[1-9]\d{6,19})\.(zip|jsonl\.gz)\Z", re.ASCII)
_ENDPOINT = re.compile(r"/[\x21-\x7e]*\Z")


@dataclass(frozen=True, slots=True)
class Marker:
    """Lists a session; a small JSON document (KubeRay writes it empty)."""

    session: Session


@dataclass(frozen=True, slots=True)
class FetchedEndpoint:
    """The last good answer of a dashboard endpoint, spelt as `canonical_endpoint` does."""

    session: Session
    endpoint: str


@dataclass(frozen=True, slots=True)
class SnapshotFile:
    """Answers over time; named by the first answer's epoch milliseconds and a counter."""

    session: Session
    first_ms: int
    sequence: int


@dataclass(frozen=True, slots=True)
class IndexFile:
    """A derived file of the session's index."""

    session: Session
    format: str
    name: str


@dataclass(frozen=True, slots=True)
class NodeManifest:
    """What one node recorded."""

    session: Session
    node: str


@dataclass(frozen=True, slots=True)
class LogFile:
    """A whole log file, as KubeRay's collector uploads it."""

    session: Session
    node: str
    path: str


@dataclass(frozen=True, slots=True)
class LogPack:
    """Byte ranges of many log files of one node, in one ZIP."""

    session: Session
    node: str
    first_ms: int
    sequence: int


@dataclass(frozen=True, slots=True)
class EventFile:
    """Events of one node, of one job or of none; `hour` is `YYYY-MM-DD-HH` in UTC."""

    session: Session
    node: str
    job: str
    hour: str
    unix_ns: int
    suffix: str = ".jsonl.gz"


@dataclass(frozen=True, slots=True)
class FrontendFile:
    """An asset of the dashboard's static frontend of a Ray version."""

    version: str
    path: str


Reference = (
    Marker
    | FetchedEndpoint
    | SnapshotFile
    | IndexFile
    | NodeManifest
    | LogFile
    | LogPack
    | EventFile
    | FrontendFile
)


def canonical_endpoint(endpoint: str) -> str:
    """One spelling per endpoint: no `/` at the path's end, parameters sorted, no `nocache`."""
    path, _, query = endpoint.partition("?")
    pairs = sorted(pair for pair in query.split("&") if pair and not pair.startswith("nocache="))
    return (path.rstrip("/") or "/") + ("?" + "&".join(pairs) if pairs else "")


def metadata_prefix(kind: ClusterKind | None = None) -> str:
    """Where the markers stand: of all clusters or of one kind."""
    return f"{METADATA}/{kind}/" if kind else f"{METADATA}/"


def cluster_metadata_prefix(cluster: Cluster) -> str:
    """Where the markers of one cluster's sessions stand."""
    parts = [cluster.namespace, cluster.owner, cluster.name]
    return f"{METADATA}/{cluster.kind}/{_joined(parts)}/"


def session_prefix(session: Session) -> str:
    return f"{HISTORY}/{session.path}/"


def node_prefix(session: Session, node: str) -> str:
    return f"{session_prefix(session)}{ids.hex_id(IdKind.NODE, node)}/"


def frontend_prefix(version: str) -> str:
    return f"{FRONTENDS}/{ids.version(version)}/"


def key(reference: Reference) -> str:
    """The key of a reference.  Raises `BadIdentifier` if a part of it may not stand in a key."""
    made = _SPELL[type(reference)](reference)
    if parse(made) != reference:
        raise BadIdentifier(f"the key {made!r} would not come back as {reference!r}")
    return made


def parse(text: str) -> Reference:
    """The reference a key means.  Raises `BadIdentifier` for anything this layout does not know."""
    ids.object_key(text)
    top, _, rest = text.partition("/")
    parts = rest.split("/")
    try:
        if top == METADATA:
            return _parse_marker(parts)
        if top == HISTORY:
            return _parse_history(parts)
        if top == FRONTENDS and len(parts) > 1:
            return FrontendFile(ids.version(parts[0]), "/".join(parts[1:]))
    except (ValueError, IndexError) as error:
        raise BadIdentifier(f"not a key of this layout: {text!r} ({error})") from error
    raise _unknown(text)


def _joined(parts: list[str]) -> str:
    # Kubernetes names have no `_`, so the join can be undone.
    return "_".join(part for part in parts if part)


def _marker(reference: Marker) -> str:
    return cluster_metadata_prefix(reference.session.cluster) + reference.session.name


def _endpoint(reference: FetchedEndpoint) -> str:
    path, mark, query = reference.endpoint.partition("?")
    if not _ENDPOINT.match(reference.endpoint) or reference.endpoint != canonical_endpoint(
        reference.endpoint
    ):
        raise BadIdentifier(f"not an endpoint: {reference.endpoint!r}")
    name = "restful__" + path.removeprefix("/").replace("/", "__") + mark + query
    if "/" in name or len(name) > ids.MAX_PART_BYTES:
        raise BadIdentifier(f"endpoint cannot be a key: {reference.endpoint!r}")
    return f"{session_prefix(reference.session)}fetched_endpoints/{name}"


def _snapshots(reference: SnapshotFile) -> str:
    name = _numbered(reference.first_ms, reference.sequence)
    return f"{session_prefix(reference.session)}snapshots/{name}.jsonl.gz"


def _index(reference: IndexFile) -> str:
    return f"{session_prefix(reference.session)}index/{ids.version(reference.format)}/{reference.name}"


def _manifest(reference: NodeManifest) -> str:
    return node_prefix(reference.session, reference.node) + "manifest.json"


def _log_file(reference: LogFile) -> str:
    return f"{node_prefix(reference.session, reference.node)}logs/{ids.relative_path(reference.path)}"


def _log_pack(reference: LogPack) -> str:
    name = _numbered(reference.first_ms, reference.sequence)
    return f"{node_prefix(reference.session, reference.node)}log_packs/{name}.zip"


def _event_file(reference: EventFile) -> str:
    folder = f"job_events/{ids.hex_id(IdKind.JOB, reference.job)}" if reference.job else "node_events"
    name = f"{reference.node}-{reference.hour}-{reference.unix_ns}{reference.suffix}"
    return f"{node_prefix(reference.session, reference.node)}{folder}/{name}"


def _frontend_file(reference: FrontendFile) -> str:
    return frontend_prefix(reference.version) + ids.relative_path(reference.path)


_SPELL: dict[type, Callable[..., str]] = {
    Marker: _marker,
    FetchedEndpoint: _endpoint,
    SnapshotFile: _snapshots,
    IndexFile: _index,
    NodeManifest: _manifest,
    LogFile: _log_file,
    LogPack: _log_pack,
    EventFile: _event_file,
    FrontendFile: _frontend_file,
}


def _numbered(first_ms: int, sequence: int) -> str:
    return f"{first_ms:013d}-{sequence:06d}"


def _parse_marker(parts: list[str]) -> Marker:
    kind_name, joined, session = parts
    names = joined.split("_")
    kind = ClusterKind(kind_name)
    if kind is ClusterKind.RAYCLUSTER:
        namespace, name = names
        cluster = Cluster(kind, namespace, name)
    else:
        namespace, owner, name = names
        cluster = Cluster(kind, namespace, name, owner)
    return Marker(Session(cluster, session))


def _parse_history(parts: list[str]) -> Reference:
    kind = ClusterKind(parts[0])
    if kind is ClusterKind.RAYCLUSTER:
        cluster, rest = Cluster(kind, parts[1], parts[2]), parts[3:]
    else:
        cluster, rest = Cluster(kind, parts[1], parts[3], parts[2]), parts[4:]
    session = Session(cluster, rest[0])
    folder, *below = rest[1:]
    if folder == "fetched_endpoints":
        return _parse_endpoint(session, _only(below))
    if folder == "snapshots":
        return SnapshotFile(session, *_parse_numbered("jsonl.gz", _only(below)))
    if folder == "index":
        return IndexFile(session, ids.version(below[0]), "/".join(_some(below[1:])))
    return _parse_node(session, _hex(IdKind.NODE, folder), below)


def _parse_node(session: Session, node: str, parts: list[str]) -> Reference:
    folder, *below = parts
    if folder == "manifest.json" and not below:
        return NodeManifest(session, node)
    if folder == "logs":
        return LogFile(session, node, "/".join(_some(below)))
    if folder == "log_packs":
        return LogPack(session, node, *_parse_numbered("zip", _only(below)))
    if folder == "node_events":
        return _parse_event_file(session, node, "", _only(below))
    if folder == "job_events":
        job, name = below
        return _parse_event_file(session, node, _hex(IdKind.JOB, job), name)
    raise _unknown("/".join(parts))


def _parse_endpoint(session: Session, name: str) -> FetchedEndpoint:
    path, mark, query = name.partition("?")
    if not path.startswith("restful__"):
        raise _unknown(name)
    endpoint = "/" + path[len("restful__") :].replace("__", "/") + mark + query
    return FetchedEndpoint(session, canonical_endpoint(endpoint))  # KubeRay's collector spells some otherwise


def _parse_numbered(suffix: str, name: str) -> tuple[int, int]:
    match = _NUMBERED.match(name)
    if not match or match[3] != suffix:
        raise _unknown(name)
    return int(match[1]), int(match[2])


def _parse_event_file(session: Session, node: str, job: str, name: str) -> EventFile:
    match = _EVENT_FILE.match(name)
    if not match or match[1] != node:
        raise _unknown(name)
    return EventFile(session, node, job, match[2], int(match[3]), match[4])


def _hex(kind: IdKind, text: str) -> str:
    if ids.hex_id(kind, text) != text:  # in capitals it would come back as another key
        raise _unknown(text)
    return text


def _only(parts: list[str]) -> str:
    [part] = parts
    return part


def _some(parts: list[str]) -> list[str]:
    if not parts:
        raise _unknown("a folder")
    return parts


def _unknown(text: str) -> BadIdentifier:
    return BadIdentifier(f"not a key of this layout: {text!r}")
