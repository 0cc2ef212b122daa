"""The dashboard's recorded answers: the last good one of each endpoint, and how each changed over time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from rayhist import layout
from rayhist.replay.actors_processes import ActorProcesses
from rayhist.replay.nodes_polled import PolledNodes
from rayhist.source import Answer, Published, digest_of

OK = 200

_EMPTIED = {
    "/api/serve/applications": "applications",
    "/api/data/datasets/": "datasets",
    "/api/train/v2/runs": "train_runs",
}
"""Answers that lose their content as the cluster shuts down, and the field that then is empty."""


class Answers:
    """Answers by canonical endpoint.  Add them in any order; the latest by time counts.

    Serve's, Ray Data's and Ray Train's last answer with content counts, even if a later one has none.
    """

    def __init__(self) -> None:
        self._good: dict[str, Answer] = {}
        self._last: dict[str, Answer] = {}
        self._ranks: dict[str, tuple[bool, int]] = {}
        self._times: dict[tuple[str, str], int] = {}
        self.nodes = PolledNodes()
        self.processes = ActorProcesses()

    def add(self, answer: Answer) -> None:
        endpoint = layout.canonical_endpoint(answer.endpoint)
        answer = Answer(endpoint, answer.fetched_at, answer.status, answer.body)
        if endpoint not in self._last or answer.fetched_at >= self._last[endpoint].fetched_at:
            self._last[endpoint] = answer
        if answer.status != OK:
            return
        self.nodes.take(answer)
        self.processes.take(answer)
        rank = (not _empty(answer), answer.fetched_at)
        if endpoint not in self._good or rank >= self._ranks[endpoint]:
            self._good[endpoint] = answer
            self._ranks[endpoint] = rank

    def good(self, endpoint: str) -> Answer | None:
        """The last answer with status 200."""
        return self._good.get(layout.canonical_endpoint(endpoint))

    def last(self, endpoint: str) -> Answer | None:
        """The last answer, whatever its status."""
        return self._last.get(layout.canonical_endpoint(endpoint))

    def date(self, published: Published) -> None:
        """Take note of when an answer was fetched that is kept as an object of its own."""
        key = (layout.canonical_endpoint(published.endpoint), published.digest)
        self._times[key] = max(published.published_at, self._times.get(key, 0))

    def add_published(self, endpoint: str, body: bytes, changed_ms: int) -> None:
        """Add an endpoint's last good answer; all others, and the dates, were taken before.

        When none says when it was fetched, it was when its object was written: `changed_ms`.
        """
        known = self.good(endpoint)
        if known is None or bytes(known.body) != body:
            key = (layout.canonical_endpoint(endpoint), digest_of(body))
            self.add(Answer(endpoint, self._times.get(key, changed_ms), OK, msgspec.Raw(body)))

    def body(self, endpoint: str) -> Any:
        """The decoded body of the last good answer, or `None`."""
        answer = self.good(endpoint)
        return None if answer is None else msgspec.json.decode(answer.body)

    def below(self, prefix: str) -> Iterator[Answer]:
        """The last good answers of the endpoints that begin with `prefix`, sorted by endpoint."""
        for endpoint in sorted(self._good):
            if endpoint.startswith(prefix):
                yield self._good[endpoint]

    def all(self) -> Iterator[Answer]:
        """The last answer of every endpoint, preferring good ones, sorted by endpoint."""
        for endpoint in sorted(self._last):
            yield self._good.get(endpoint, self._last[endpoint])


def _empty(answer: Answer) -> bool:
    field = next((name for start, name in _EMPTIED.items() if answer.endpoint.startswith(start)), None)
    if field is None:
        return False
    try:
        body = msgspec.json.decode(answer.body, type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return True
    return bytes(body.get(field, b"null")).strip() in {b"{}", b"[]", b"null"}
