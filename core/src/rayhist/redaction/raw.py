"""Redacting JSON in place: what is no secret keeps its bytes.

A runtime environment is a JSON object (`runtime_env`), or one printed into a string of another JSON document
(`serializedRuntimeEnv` of an event), at any depth.  Most documents have none, or one of a few that thousands
of events repeat: so it is looked for with plain searches first, and what became of a text is remembered.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from rayhist.redaction import walk
from rayhist.redaction.rules import PLACEHOLDER, Rules
from rayhist.redaction.walk import Edit

_VARIABLES = b"env_vars"
_OPENING = b'untimeEnv":"'
_FILLED = (b'untimeEnv":"{\\"', b'untime_env":"{\\"')
_LITERAL = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+(?=")', re.DOTALL)
_ANYWHERE = re.compile(rb"env_vars|envVars|untime_?[eE]nv|\\u00[2-7]")
"""Any of the names, also if a letter of it is spelt out, which nobody has to do."""
_LONG_BYTES = 16 << 10


class Redactor:
    """Safe on several threads."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._remembered = lru_cache(maxsize=1024)(self._serialized)

    def redact(self, data: bytes) -> bytes:
        """One JSON document, or any text that JSON stands in, without its secrets."""
        edits = self.edits(data)
        return _bytes(applied(_text(data), edits)) if edits else data

    def edits(self, data: bytes) -> list[Edit]:
        """What `redact` replaces, by the characters' positions in the decoded text."""
        return walk.edits(_text(data), self._rules) if _ANYWHERE.search(data) else []

    def mask(self, text: bytes) -> bytes:
        """Lines of a log: each secret becomes as many other bytes, so that everything keeps its place."""
        if not _ANYWHERE.search(text):
            return text
        return b"\n".join(self._masked(line) for line in text.split(b"\n"))

    def _masked(self, line: bytes) -> bytes:
        text = _text(line)
        fillers = []
        for edit in self.edits(line):
            length = len(_bytes(text[edit.start : edit.end]))
            fillers.append(edit._replace(text=_filler(length, is_number='"' in edit.text)))
        return _bytes(applied(text, fillers)) if fillers else line

    def events(self, lines: Sequence[bytes]) -> Sequence[bytes]:
        """A batch of events as Ray posts them; of most, three searches find that there is nothing to do."""
        if not _suspicious(b"\n".join(lines)):
            return lines
        return [self._event(line) if _suspicious(line) else line for line in lines]

    def _event(self, line: bytes) -> bytes:
        """In nearly all, the one runtime environment is a string that was met before."""
        at = line.find(_OPENING)
        start = at + len(_OPENING)
        found = _LITERAL.match(line, start) if at >= 0 else None
        if found is None or found.end() - start > _LONG_BYTES:
            return self.redact(line)
        literal = found[0]
        clean, mentions = self._remembered(literal)
        if line.count(_VARIABLES) != mentions or line.find(_FILLED[0], found.end()) >= 0:
            return self.redact(line)
        return line if clean == literal else line[:start] + clean + line[found.end() :]

    def _serialized(self, literal: bytes) -> tuple[bytes, int]:
        """What stands between the quotes, redacted, and how often it says `env_vars`."""
        text = _text(literal)
        edits = walk.serialized_edits(text, self._rules)
        return _bytes(applied(text, edits)) if edits else literal, literal.count(_VARIABLES)


def applied(text: str, edits: list[Edit]) -> str:
    """The text with its edits made."""
    pieces = []
    position = 0
    for edit in edits:
        pieces += [text[position : edit.start], edit.text]
        position = edit.end
    return "".join([*pieces, text[position:]])


def _filler(length: int, *, is_number: bool) -> str:
    if is_number:
        return "9" * length
    return PLACEHOLDER.ljust(length, "*") if length >= len(PLACEHOLDER) else "*" * length


def _suspicious(events: bytes) -> bool:
    """Whether one of them may have something to hide.  Long needles are found fastest."""
    return any(needle in events for needle in _FILLED) or _VARIABLES in events


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
