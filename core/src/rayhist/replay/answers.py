"""The dashboard's recorded answers: the last good one of each endpoint, and how each changed over time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from rayhist import layout
from rayhist.source import Answer

OK = 200


class Answers:
    """Answers by canonical endpoint.  Add them in any order; the latest by time counts."""

    def __init__(self) -> None:
        self._good: dict[str, Answer] = {}
        self._last: dict[str, Answer] = {}

    def add(self, answer: Answer) -> None:
        endpoint = layout.canonical_endpoint(answer.endpoint)
        for known, wanted in ((self._last, True), (self._good, answer.status == OK)):
            if wanted and (endpoint not in known or answer.fetched_at >= known[endpoint].fetched_at):
                known[endpoint] = answer

    def good(self, endpoint: str) -> Answer | None:
        """The last answer with status 200."""
        return self._good.get(layout.canonical_endpoint(endpoint))

    def last(self, endpoint: str) -> Answer | None:
        """The last answer, whatever its status."""
        return self._last.get(layout.canonical_endpoint(endpoint))

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
