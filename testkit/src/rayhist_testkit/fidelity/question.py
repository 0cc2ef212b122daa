"""One question to a dashboard, and the answer."""

from __future__ import annotations

from urllib.parse import quote, urlencode

import msgspec

_CACHED = ("/nodes", "/logical/", "/events")


class Question(msgspec.Struct, frozen=True):
    """A request without a body; `browser` sends the headers by which Ray knows a browser."""

    path: str
    method: str = "GET"
    browser: bool = False
    section: str = ""
    """The part of the list of questions that it is from."""

    @property
    def name(self) -> str:
        """How reports and the table of allowed differences call it."""
        method = "" if self.method == "GET" else f"{self.method} "
        return f"{method}{self.path}{' (browser)' if self.browser else ''}"


class Given(msgspec.Struct, frozen=True):
    """An answer: HTTP status, the two headers that clients act on, and the body."""

    status: int
    kind: str
    """`Content-Type`."""
    disposition: str
    """`Content-Disposition`."""
    body: bytes
    whole: bytes | None = None
    """Of the part of a log that differs: all of the log, to look the part up in."""


class Answered(msgspec.Struct, frozen=True):
    """A question with its answer."""

    question: Question
    answer: Given


def ask(path: str, **parameters: object) -> Question:
    """A question for `path`.  Ray's head serves some paths from a cache that is one answer late: not here."""
    if path.startswith(_CACHED):
        parameters["nocache"] = 1
    return Question(path + ("?" + urlencode(parameters, quote_via=quote) if parameters else ""))


def as_browser(question: Question) -> Question:
    return msgspec.structs.replace(question, browser=True)


def head(path: str) -> Question:
    return Question(path, method="HEAD")


def filters(*conditions: tuple[str, str, object]) -> str:
    """The state API's filters, each column, predicate and value, as a query."""
    pairs = [
        pair
        for column, predicate, value in conditions
        for pair in (
            ("filter_keys", column),
            ("filter_predicates", predicate),
            ("filter_values", str(value)),
        )
    ]
    return urlencode(pairs, quote_via=quote)
