"""Validated identifiers.

No name from the network or from a file system becomes part of a key without passing through here.
Lengths of Ray's binary ids are those of Ray 2.60's `src/ray/common/constants.h` and `id.h`.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from enum import StrEnum

from rayhist.errors import BadIdentifier

MAX_KEY_BYTES = 1024
"""S3's limit for a key."""
MAX_LOG_PATH_BYTES = 700
"""Leaves room in a key for what stands before a log file's path."""
MAX_PART_BYTES = 255
"""A file name's limit on every common file system; keys must work there as well."""

_DNS_1123 = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?\Z")
_SESSION = re.compile(r"session_\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d_\d{6}(?:_\d{1,20})?\Z", re.ASCII)
_HEX = re.compile(r"[0-9a-f]+\Z")
_DOTS = frozenset({"", ".", ".."})
_UNSAFE = re.compile(r"[\x00-\x1f\x7f\\\ud800-\udfff]")
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+-]{0,63}\Z")


class IdKind(StrEnum):
    """Ray's id types, each with its length in bytes."""

    NODE = "node"
    WORKER = "worker"
    JOB = "job"
    TASK = "task"
    ACTOR = "actor"
    PLACEMENT_GROUP = "placement group"

    @property
    def size(self) -> int:
        return _SIZES[self]


_SIZES = {
    IdKind.NODE: 28,
    IdKind.WORKER: 28,
    IdKind.JOB: 4,
    IdKind.TASK: 24,
    IdKind.ACTOR: 16,
    IdKind.PLACEMENT_GROUP: 18,
}


def hex_id(kind: IdKind, value: str) -> str:
    """Return `value` as lower-case hex of the right length, or raise `BadIdentifier`."""
    lowered = value.lower()
    if len(lowered) != 2 * kind.size or not _HEX.match(lowered):
        raise BadIdentifier(f"no {kind} id ({2 * kind.size} hex digits): {_shown(value)}")
    return lowered


def hex_from_base64(kind: IdKind, value: str) -> str:
    """Return the hex form of the base64 id that Ray's events carry; `""` stays `""` (absent).

    Decoding goes by the field's type and length, never by what the text looks like.
    """
    if not value:
        return ""
    try:
        raw = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadIdentifier(f"not a base64 {kind} id: {_shown(value)}") from error
    if len(raw) != kind.size:
        raise BadIdentifier(f"a {kind} id has {kind.size} bytes, not {len(raw)}: {_shown(value)}")
    return raw.hex()


def nil_id(kind: IdKind) -> str:
    """Ray's nil id: all bits set."""
    return "ff" * kind.size


def dns_name(what: str, value: str) -> str:
    """Return `value` if it is a DNS-1123 name (lower case, digits, `-`, `.`), else raise."""
    if not _DNS_1123.match(value) or ".." in value:
        raise BadIdentifier(
            f"{what} must be a DNS-1123 name: {_shown(value)}",
            remedy="use lower-case letters, digits, '-' and '.'; at most 253 of them",
        )
    return value


def session_name(value: str) -> str:
    """Return `value` if it is a session name as Ray makes them, else raise."""
    if not _SESSION.match(value):
        raise BadIdentifier(f"not a Ray session name: {_shown(value)}")
    return value


def version(value: str) -> str:
    if not _VERSION.match(value):
        raise BadIdentifier(f"not a version: {_shown(value)}")
    return value


def relative_path(value: str, *, max_bytes: int = MAX_LOG_PATH_BYTES) -> str:
    """Return `value` if it is a plain relative POSIX path that no store can misread, else raise."""
    parts = value.split("/")
    size = _bytes(value)
    bad = (
        size > max_bytes
        or not _DOTS.isdisjoint(parts)
        or (size > MAX_PART_BYTES and any(_bytes(part) > MAX_PART_BYTES for part in parts))
        or _UNSAFE.search(value) is not None
    )
    if bad:
        raise BadIdentifier(f"not a plain relative path: {_shown(value)}")
    return value


def object_key(value: str) -> str:
    """Return `value` if every store can hold an object under that key, else raise."""
    return relative_path(value, max_bytes=MAX_KEY_BYTES)


def _bytes(value: str) -> int:
    return len(value.encode("utf-8", "surrogatepass"))


def _shown(value: str) -> str:
    return repr(value if len(value) <= 80 else value[:77] + "...")


class ClusterKind(StrEnum):
    """Which Kubernetes resource the cluster belongs to; a cluster of no Kubernetes is a `raycluster`."""

    RAYCLUSTER = "raycluster"
    RAYJOB = "rayjob"
    RAYSERVICE = "rayservice"


@dataclass(frozen=True, slots=True, order=True)
class Cluster:
    """One Ray cluster: kind, namespace, name and, for a RayJob or RayService, its owner's name."""

    kind: ClusterKind
    namespace: str
    name: str
    owner: str = ""

    def __post_init__(self) -> None:
        dns_name("namespace", self.namespace)
        dns_name("cluster name", self.name)
        owned = self.kind is not ClusterKind.RAYCLUSTER
        if owned != bool(self.owner):
            raise BadIdentifier(f"a {self.kind} {'needs an' if owned else 'has no'} owner: {self!r}")
        if self.owner:
            dns_name("owner", self.owner)

    @property
    def path(self) -> str:
        """`<kind>/<namespace>/[<owner>/]<name>`, as in keys and in the server's addresses."""
        parts = [self.kind.value, self.namespace, self.owner, self.name]
        return "/".join(part for part in parts if part)


@dataclass(frozen=True, slots=True, order=True)
class Session:
    """One life of a cluster's head: what Ray calls a session."""

    cluster: Cluster
    name: str

    def __post_init__(self) -> None:
        session_name(self.name)

    @property
    def path(self) -> str:
        return f"{self.cluster.path}/{self.name}"
