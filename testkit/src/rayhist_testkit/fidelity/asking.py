"""Putting questions to a dashboard, and keeping the answers in a file."""

from __future__ import annotations

import contextlib
import http.client
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from rayhist.errors import Unavailable
from rayhist_testkit.fidelity.question import Answered, Given, Question

_TIMEOUT_S = 60
_BROWSER = {
    "User-Agent": "Mozilla/5.0",
    "Sec-Fetch-Mode": "cors",
    "Sec-Fetch-Site": "same-origin",
}
_TOOL = {"User-Agent": "rayhist-fidelity"}


class Asker:
    """Asks one dashboard, over one connection at a time; `address` is the URL that its paths continue."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._address = address
        self._below = parts.path.rstrip("/")
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=_TIMEOUT_S)

    def ask(self, question: Question) -> Given:
        """Raises `Unavailable` if there is no answer.  One that is cut off counts as far as it came."""
        headers = {"Accept": "*/*", **(_BROWSER if question.browser else _TOOL)}
        try:
            answer = self._send(question, headers)
            try:
                body = answer.read()
            except http.client.IncompleteRead as cut:
                body = cut.partial
                self.close()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Unavailable(f"{self._address}: {question.name}: {error!r}") from error
        told = answer.headers
        return Given(answer.status, told.get("content-type", ""), told.get("content-disposition", ""), body)

    def _send(self, question: Question, headers: dict[str, str]) -> http.client.HTTPResponse:
        for again in (True, False):
            try:
                self._connection.request(question.method, self._below + question.path, headers=headers)
                return self._connection.getresponse()
            except (http.client.RemoteDisconnected, ConnectionError):
                self.close()  # a server may end a connection that it kept open; `request` opens a new one
                if not again:
                    raise
        raise AssertionError("unreachable")

    def close(self) -> None:
        self._connection.close()


def ask_all(address: str, questions: Sequence[Question]) -> Iterator[Answered]:
    """Ask one after the other."""
    with contextlib.closing(Asker(address)) as asker:
        for question in questions:
            yield Answered(question, asker.ask(question))


def write(path: Path, answers: Iterable[Answered]) -> None:
    """Keep answers, one JSON document a line, all of them or none."""
    partial = path.with_suffix(".partial")
    with partial.open("wb") as stream:
        for one in answers:
            stream.write(msgspec.json.encode(one) + b"\n")
    partial.replace(path)


def read(path: Path) -> list[Answered]:
    return [msgspec.json.decode(line, type=Answered) for line in path.read_bytes().splitlines()]
