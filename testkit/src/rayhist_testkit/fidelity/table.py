"""The table of differences that are allowed, each with its reason: `allowed.toml` beside this file."""

from __future__ import annotations

import re
import tomllib
from functools import cached_property
from importlib import resources

import msgspec

from rayhist.errors import ConfigError
from rayhist_testkit.fidelity.compare import Difference, Kind
from rayhist_testkit.fidelity.moments import Ending, Moments, View


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """What may differ, where, and why.

    In `questions` and `fields` `*` stands for anything, and in `questions` `<id>` for an id in hex; one of
    each must match.
    """

    questions: list[str]
    fields: list[str]
    check: str
    """A function of `checks`: what must be true of the two values."""
    reason: str
    kind: Kind = Kind.VALUE
    whole: bool = False
    """Whether the fields' values are compared as they are, instead of what is in them."""
    by_chance: bool = False
    """Whether what it allows does not happen in every run, so that it may have nothing to allow."""
    views: tuple[View, ...] = tuple(View)
    endings: tuple[Ending, ...] = tuple(Ending)

    def concerns(self, question: str, moments: Moments) -> bool:
        return moments.view in self.views and moments.ending in self.endings and _any(self._asked, question)

    def about(self, field: str) -> bool:
        return _any(self._at, field)

    @cached_property
    def _asked(self) -> list[re.Pattern[str]]:
        return [_pattern(text, {"*": ".*", "<id>": "[0-9a-f]{8,}"}) for text in self.questions]

    @cached_property
    def _at(self) -> list[re.Pattern[str]]:
        return [_pattern(text, {"*": ".*"}) for text in self.fields]


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The groups of reasons."""

    ticking: list[Rule] = []
    """Clocks and samples: what differs between any two moments of a living cluster."""
    ended: list[Rule] = []
    """What the end of a session changes by rule."""
    ours: list[Rule] = []
    """Where the live dashboard is wrong or poorer."""

    @property
    def rules(self) -> list[Rule]:
        return [*self.ticking, *self.ended, *self.ours]


def load(text: str | None = None) -> Table:
    """Read the table; without a text, the one that comes with this package.  Raises `ConfigError`."""
    if text is None:
        text = resources.files("rayhist_testkit.fidelity").joinpath("allowed.toml").read_text("utf-8")
    try:
        return msgspec.convert(tomllib.loads(text), Table)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise ConfigError(f"the table of allowed differences: {error}") from error


def explains(rule: Rule, difference: Difference) -> bool:
    """Whether the rule is about that difference, its check aside."""
    return rule.kind is difference.kind and rule.about(difference.field)


def _any(patterns: list[re.Pattern[str]], text: str) -> bool:
    return any(pattern.fullmatch(text) for pattern in patterns)


def _pattern(text: str, signs: dict[str, str]) -> re.Pattern[str]:
    parts = re.split(r"(\*|<id>)", text)
    return re.compile("".join(signs.get(part, re.escape(part)) for part in parts), re.DOTALL)
