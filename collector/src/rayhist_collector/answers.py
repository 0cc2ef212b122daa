"""The dashboard's answers on local disk: the last good one per endpoint, and how each changed over time."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

import msgspec

from rayhist import layout
from rayhist.clock import Clock
from rayhist.errors import BadIdentifier
from rayhist.ids import Cluster, Session
from rayhist.layout import FetchedEndpoint, SnapshotFile
from rayhist.redaction import Redactor
from rayhist.source import Answer, Published, digest_of
from rayhist_collector import gz
from rayhist_collector.spool import Spool

_OK = 200
_HISTORY_BYTES_PER_S = 2048
"""What an endpoint's history may grow by on average: small answers are kept at every change, and one of a
megabyte every eight minutes.  The last good answer is always kept besides."""
_IDS = re.compile(r"[0-9a-f]{8,}")
_EMPTY = {
    "/api/serve/applications": "applications",
    "/api/data/datasets/": "datasets",
    "/api/train/v2/runs": "train_runs",
}
"""Endpoints that forget, and the field that is empty when they have: Serve's controller dies before the
cluster does, and Ray drops the numbers of finished datasets after a while."""


class _Seen(msgspec.Struct):
    digest: bytes = b""
    kept_ms: int = 0
    fetched_ms: int = 0
    full: bool = False
    unpublished: bool = False


class AnswerFiles:
    """Not thread-safe; every call blocks.  Raises `OSError` when the disk does not take it."""

    def __init__(
        self, spool: Spool, cluster: Cluster, clock: Clock, redactor: Redactor | None = None
    ) -> None:
        self._redactor = redactor
        self._spool = spool
        self._cluster = cluster
        self._clock = clock
        self._seen: dict[str, _Seen] = {}
        self._families: dict[str, set[str]] = {}
        self._open: dict[str, Path] = {}
        self._sequence = 0

    def add(self, session: str, answers: Iterable[Answer]) -> list[Answer]:
        """Store what is new; returns the answers that were taken.

        Raises `BadIdentifier` for a session name that is none.
        """
        whose = Session(self._cluster, session)
        taken = []
        for answer in answers:
            endpoint = layout.canonical_endpoint(answer.endpoint)
            try:
                key = layout.key(FetchedEndpoint(whose, endpoint))
            except BadIdentifier:
                continue  # a name too long for a key: a poller that asks such things has a mistake
            redacted = self._redacted(msgspec.structs.replace(answer, endpoint=endpoint))
            if self._add(whose, key, redacted):
                taken.append(redacted)
        return taken

    def _redacted(self, answer: Answer) -> Answer:
        if self._redactor is None:
            return answer
        body = self._redactor.redact(bytes(answer.body))
        return msgspec.structs.replace(answer, body=msgspec.Raw(body))

    def _add(self, session: Session, key: str, answer: Answer) -> bool:
        seen = self._recall(key)
        body = bytes(answer.body)
        digest = hashlib.blake2b(b"%d " % answer.status + body, digest_size=8).digest()
        full = answer.status == _OK and _full(answer.endpoint, body)
        if digest == seen.digest or (seen.full and not full and answer.status == _OK):
            return False
        if answer.status == _OK:
            self._spool.write(self._spool.kept / key, body, flush=False)  # sealing its copy flushes it
            seen.full = full
            seen.unpublished = True
            seen.fetched_ms = answer.fetched_at
        seen.digest = digest
        self._families.setdefault(_IDS.sub("*", key), set()).add(key)
        siblings = len(self._families[_IDS.sub("*", key)])
        if answer.fetched_at - seen.kept_ms >= 1000 * siblings * len(body) / _HISTORY_BYTES_PER_S:
            seen.kept_ms = answer.fetched_at
            self._append(session, answer.fetched_at, answer)
        return True

    def _recall(self, key: str) -> _Seen:
        if key not in self._seen:
            self._seen[key] = seen = _Seen()
            path = self._spool.kept / key
            if path.exists():
                reference = layout.parse(key)
                assert isinstance(reference, FetchedEndpoint)
                seen.full = _full(reference.endpoint, path.read_bytes())
                seen.fetched_ms = int(path.stat().st_mtime * 1000)
        return self._seen[key]

    def _append(self, session: Session, at_ms: int, line: Answer | Published) -> None:
        path = self._open.get(session.name)
        if path is None:
            name = f"answers~{session.name}~{at_ms:013d}-{self._sequence:06d}.jsonl"
            self._sequence += 1
            path = self._open[session.name] = self._spool.open / name
        with path.open("ab") as file:
            file.write(msgspec.json.encode(line) + b"\n")

    def seal(self) -> list[str]:
        """Seal the history that is open; returns the keys."""
        paths, self._open = list(self._open.values()), {}
        return [key for path in paths if (key := self._seal(path))]

    def recover(self) -> list[str]:
        """Seal what a crash left open, and publish the last good answers anew; returns the keys."""
        keys = [key for path in self._spool.open.glob("answers~*.jsonl") if (key := self._seal(path))]
        for path in self._spool.kept.rglob("restful__*"):
            key = path.relative_to(self._spool.kept).as_posix()
            self._recall(key).unpublished = True
        return [*keys, *self.publish()]

    def _seal(self, path: Path) -> str | None:
        try:
            _, session, numbers = path.stem.split("~")
            first_ms, sequence = map(int, numbers.split("-"))
            key = layout.key(SnapshotFile(Session(self._cluster, session), first_ms, sequence))
        except ValueError:
            return None
        with self._spool.temporary() as temporary:
            gz.compress(path, temporary)
            self._spool.seal(key, temporary)
        path.unlink()
        return key

    @property
    def publish_interval_s(self) -> float:
        """At most about one request a second, however many nodes there are."""
        return max(30.0, float(len(self._seen)))

    def publish(self) -> list[str]:
        """Seal a copy of every last good answer that is new, and what says when; returns the keys."""
        keys = [key for key, seen in self._seen.items() if seen.unpublished]
        for key in keys:
            self._date(key)
        dates = self.seal() if keys else []
        for key in keys:
            self._spool.seal_copy(key, self._spool.kept / key)
            self._seen[key].unpublished = False
        return [*dates, *keys]

    def _date(self, key: str) -> None:
        """Note in the history when the last good answer was fetched that is about to be published."""
        reference = layout.parse(key)
        assert isinstance(reference, FetchedEndpoint)
        fetched_ms = self._seen[key].fetched_ms
        digest = digest_of((self._spool.kept / key).read_bytes())
        self._append(reference.session, fetched_ms, Published(reference.endpoint, fetched_ms, digest))

    def close(self, session: str) -> list[str]:
        """Seal and publish what there is of a session that is over, and forget it; returns the keys."""
        whose = Session(self._cluster, session)
        prefix = layout.session_prefix(whose)
        keys = self.publish()
        path = self._open.pop(session, None)
        keys += filter(None, [self._seal(path) if path else None])
        self._seen = {key: seen for key, seen in self._seen.items() if not key.startswith(prefix)}
        self._families = {
            family: keys for family, keys in self._families.items() if not family.startswith(prefix)
        }
        shutil.rmtree(self._spool.kept / prefix, ignore_errors=True)
        return keys


def _full(endpoint: str, body: bytes) -> bool:
    """Whether the answer of a forgetful endpoint has content; of any other, it counts as not full."""
    for prefix, field in _EMPTY.items():
        if endpoint.startswith(prefix):
            try:
                answer = msgspec.json.decode(body)
            except msgspec.DecodeError:
                return False
            return isinstance(answer, dict) and bool(answer.get(field))
    return False
