"""`rayhist collect --redaction-test FILE`: what would be redacted of a file, without showing a secret."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from rayhist.config import Config
from rayhist.errors import ConfigError
from rayhist.redaction import Redactor, rules

_CONTEXT = 30


def report(config: Config, path: str) -> str:
    """One line per secret: where it is, the variable's name, why it goes, and what stands around it.

    The file is one JSON document, or any text, line by line.  Raises `ConfigError` if it cannot be read.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    redactor = Redactor(rules(config.redaction))
    found = list(_found(redactor, data))
    lines = [*found, f"{len(found)} secrets would be redacted in {path}; every other byte stays"]
    if not config.redaction.enabled:
        lines.append("but [redaction] enabled = false, so nothing is")
    return "\n".join([*lines, ""])


def _found(redactor: Redactor, data: bytes) -> Iterator[str]:
    for number, line in enumerate(_documents(data), 1):
        text = line.decode("utf-8", "replace")
        edits = redactor.edits(text.encode())
        for before, edit in zip([None, *edits], edits, strict=False):
            begin = max(edit.start - _CONTEXT, before.end if before else 0)
            around = " ".join(text[begin : edit.start].split())
            name = f"{edit.name}: " if edit.name else ""
            size = edit.end - edit.start
            yield f"line {number}: {name}{size} characters, {edit.why}: …{around}{edit.text}…"


def _documents(data: bytes) -> list[bytes]:
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return data.split(b"\n")
    return [data]
