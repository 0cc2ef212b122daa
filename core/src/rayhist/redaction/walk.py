"""Where in a text the secrets are: a walk over JSON that knows each value's place.

JSON within a string is walked in its decoded form, and its places are counted back to the text around it.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

from rayhist.redaction.rules import PLACEHOLDER, Rules

_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_ESCAPES = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]+", re.DOTALL
)
_ENVIRONMENTS = frozenset({"runtime_env", "runtimeEnv"})
_SERIALIZED = frozenset(
    {"serialized_runtime_env", "serializedRuntimeEnv", "runtime_env_json", "runtimeEnvJson"}
)
_VARIABLES = frozenset({"env_vars", "envVars"})
_MAY_HAVE = re.compile(r"env_vars|envVars|untime_?[eE]nv|\\u00[2-7]")
_EMBEDDED = re.compile(r'(?:"(?:env_vars|envVars)"\s*:|\benv_vars\s*=)\s*(?=\{)')
_ESCAPED = re.compile(r'\\"(?:env_vars|envVars)\\+"')
_CONSTANTS = frozenset({"null", "true", "false"})
_MAX_DEPTH = 5


class Edit(NamedTuple):
    """Characters from `start` to before `end` become `text`; `name` is the variable's, if it is one."""

    start: int
    end: int
    text: str
    name: str
    why: str


class _Mode(IntEnum):
    PLAIN = 0
    ENVIRONMENT = 1
    """Within a runtime environment."""
    VARIABLES = 2
    """Within its `env_vars`."""


class _Frame(NamedTuple):
    mode: _Mode
    is_object: bool
    name: str
    """In `env_vars`: the variable that this is within, `""` directly below it."""


def edits(text: str, rules: Rules) -> list[Edit]:
    """Those of a JSON document, or of any text that JSON objects stand in, in order."""
    return _of(text, rules, _Mode.PLAIN, 0)


def serialized_edits(literal: str, rules: Rules) -> list[Edit]:
    """Those of a serialized runtime environment, given as it stands between the quotes of its string."""
    return _mapped(literal, 0, lambda inner: _of(inner, rules, _Mode.ENVIRONMENT, 1))


def _of(text: str, rules: Rules, mode: _Mode, depth: int) -> list[Edit]:
    try:
        document = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return _not_understood(text, rules, mode, depth)
    if mode is _Mode.ENVIRONMENT and not isinstance(document, dict):
        return [_whole(text)]
    return _Walk(text, rules, depth).run(mode)


def _not_understood(text: str, rules: Rules, mode: _Mode, depth: int) -> list[Edit]:
    """Of a runtime environment that is none, all; of another text, the variables that stand in it."""
    if mode is _Mode.ENVIRONMENT:
        return [_whole(text)] if text.strip() else []
    found: list[Edit] = []
    position = 0
    while match := _EMBEDDED.search(text, position):
        walk = _Walk(text, rules, depth, match.end())
        found += walk.run(_Mode.VARIABLES)
        position = max(walk.end, match.end())
        if walk.open:  # cut off: what was not closed might be a secret
            last = max(match.end(), found[-1].end if found else 0)
            return [*found, Edit(last, len(text), PLACEHOLDER, "", "it is cut off")]
    if cut := _ESCAPED.search(text, position):
        found.append(Edit(cut.end(), len(text), PLACEHOLDER, "", "what it stands in is not understood"))
    return found


def _whole(text: str) -> Edit:
    return Edit(0, len(text), PLACEHOLDER, "", "it is not understood")


class _Walk:
    """One walk over an object or a whole document; `end` is behind it, `open` tells that it never ended."""

    def __init__(self, text: str, rules: Rules, depth: int, start: int = 0) -> None:
        self._text = text
        self._rules = rules
        self._depth = depth
        self._found: list[Edit] = []
        self.end = start
        self.open = True

    def run(self, mode: _Mode) -> list[Edit]:
        stack: list[_Frame] = []
        keys: list[str] = []
        outer = _Frame(mode, is_object=False, name="")
        awaits_key = False
        for token in _TOKEN.finditer(self._text, self.end):
            mark = token[0]
            frame = stack[-1] if stack else outer
            if mark in {"{", "["}:
                key = keys[-1] if frame.is_object else ""
                made = self._inner(frame, key, mark) if stack else frame._replace(is_object=mark == "{")
                stack.append(made)
                keys.append("")
                awaits_key = made.is_object
            elif mark in {"}", "]"}:
                if stack:
                    stack.pop()
                    keys.pop()
                awaits_key = False
            elif mark == ",":
                awaits_key = frame.is_object
            elif awaits_key and mark[0] == '"':
                keys[-1] = _decoded(mark[1:-1])[0] if "\\" in mark else mark[1:-1]
                awaits_key = False
            elif mark != ":":
                self._value(token, frame, keys[-1] if keys else "")
            self.end = token.end()
            if not stack:
                self.open = False
                break
        return self._found

    def _inner(self, frame: _Frame, key: str, mark: str) -> _Frame:
        is_object = mark == "{"
        if frame.mode is _Mode.VARIABLES:
            return _Frame(frame.mode, is_object, frame.name or key)
        if frame.is_object and key in _VARIABLES:
            return _Frame(_Mode.VARIABLES, is_object, "")
        if frame.is_object and key in _ENVIRONMENTS:
            return _Frame(_Mode.ENVIRONMENT, is_object, "")
        return _Frame(frame.mode, is_object, "")

    def _value(self, token: re.Match[str], frame: _Frame, key: str) -> None:
        start, end = token.span()
        is_string = token[0][0] == '"'
        if frame.mode is _Mode.VARIABLES or key in _VARIABLES:
            self._variable(token, frame.name or key)
        elif not is_string:
            return
        elif frame.is_object and key in _SERIALIZED:
            self._string(
                start, end, lambda inner: _of(inner, self._rules, _Mode.ENVIRONMENT, self._depth + 1)
            )
        elif frame.mode is _Mode.ENVIRONMENT:
            self._string(
                start, end, lambda inner: self._any(inner, token[0]) or _parts(inner, key, self._rules)
            )
        elif key in _ENVIRONMENTS or _MAY_HAVE.search(token[0]):
            self._string(start, end, lambda inner: self._any(inner, token[0]))

    def _any(self, inner: str, literal: str) -> list[Edit]:
        """Of a string in which JSON may stand, or nothing of the kind."""
        return _of(inner, self._rules, _Mode.PLAIN, self._depth + 1) if _MAY_HAVE.search(literal) else []

    def _string(self, start: int, end: int, find: Callable[[str], list[Edit]]) -> None:
        if self._depth < _MAX_DEPTH:
            self._found += _mapped(self._text[start + 1 : end - 1], start + 1, find)
        else:
            self._found.append(Edit(start + 1, end - 1, PLACEHOLDER, "", "it is nested too deep"))

    def _variable(self, token: re.Match[str], name: str) -> None:
        start, end = token.span()
        mark = token[0]
        if mark[0] == '"':
            value = _decoded(mark[1:-1])[0] if "\\" in mark else mark[1:-1]
            if why := self._rules.why(name, value):
                self._found.append(Edit(start + 1, end - 1, PLACEHOLDER, name, why))
            elif _MAY_HAVE.search(mark):  # such as the configuration that Ray hands to a job's driver
                self._string(start, end, lambda inner: self._any(inner, mark))
        elif mark not in _CONSTANTS and (why := self._rules.why(name, mark)):
            self._found.append(Edit(start, end, f'"{PLACEHOLDER}"', name, why))


def _mapped(literal: str, offset: int, find: Callable[[str], list[Edit]]) -> list[Edit]:
    """The edits of what a string says, as edits of the text in which its literal begins at `offset`."""
    inner, places = _decoded(literal)
    return [
        Edit(
            offset + places.back(edit.start),
            offset + places.back(edit.end),
            json.dumps(edit.text)[1:-1],
            edit.name,
            edit.why,
        )
        for edit in find(inner)
    ]


def _parts(inner: str, key: str, rules: Rules) -> list[Edit]:
    """What has to go of a string in a runtime environment that is no variable's, such as pip's index."""
    return [
        Edit(match.start(), match.end(), PLACEHOLDER, key, "by its value")
        for match in rules.values.finditer(inner)
        if match[0] not in {"", PLACEHOLDER}
    ]


class _Places:
    """Where each character of a decoded string stands in its literal."""

    def __init__(self, inner: list[int], outer: list[int]) -> None:
        self._inner = inner
        self._outer = outer

    def back(self, position: int) -> int:
        at = bisect_right(self._inner, position) - 1
        return self._outer[at] + position - self._inner[at]


def _decoded(literal: str) -> tuple[str, _Places]:
    """A string's text, and where its characters come from."""
    pieces: list[str] = []
    inner, outer = [0], [0]
    length = 0
    for match in _ESCAPES.finditer(literal):
        piece = match[0]
        if piece[0] == "\\":
            piece = _unescaped(piece)
        inner.append(length)
        outer.append(match.start())
        pieces.append(piece)
        length += len(piece)
    inner.append(length)
    outer.append(len(literal))
    return "".join(pieces), _Places(inner, outer)


def _unescaped(escape: str) -> str:
    try:
        return str(json.loads(f'"{escape}"'))
    except ValueError:
        return escape[1:]
