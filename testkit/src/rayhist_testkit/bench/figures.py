"""Figures and their limits: as a table for people, as JSON for comparing runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec


class Figure(msgspec.Struct, frozen=True):
    """One measured value.  At most one of the limits is set; without any it is told, not judged."""

    section: str
    name: str
    value: float
    unit: str
    most: float | None = None
    least: float | None = None
    note: str = ""

    @property
    def judged(self) -> bool:
        return self.most is not None or self.least is not None

    @property
    def within(self) -> bool:
        over = self.most is not None and self.value > self.most
        under = self.least is not None and self.value < self.least
        return not over and not under

    @property
    def limit(self) -> str:
        if self.most is not None:
            return f"at most {_number(self.most)}"
        return f"at least {_number(self.least)}" if self.least is not None else ""


class Run(msgspec.Struct):
    """All of a run, and what it ran on."""

    machine: str
    store: str
    figures: list[Figure]


def table(figures: Sequence[Figure]) -> Iterator[str]:
    """The figures by section, with their limits beside them, and the last line."""
    section = ""
    for figure in figures:
        if figure.section != section:
            section = figure.section
            yield f"\n{section}"
        verdict = ("yes" if figure.within else "NO") if figure.judged else ""
        line = f"  {figure.name:<38} {_number(figure.value):>9} {figure.unit:<9} {figure.limit:<17} {verdict}"
        yield f"{line.rstrip()}{'   ' + figure.note if figure.note else ''}"
    judged = [figure for figure in figures if figure.judged]
    yield ""
    yield f"bench-collector: {sum(figure.within for figure in judged)} of {len(judged)} within limits"


def write(run: Run, path: Path) -> None:
    """Write the run as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(run)) + b"\n")


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
