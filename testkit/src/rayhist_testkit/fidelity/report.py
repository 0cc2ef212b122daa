"""What a run found, for people."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec

from rayhist_testkit.fidelity.judging import Found, Judgement
from rayhist_testkit.fidelity.table import Rule, Table

_SHOWN = 160
_PLACES = 200
_ID = re.compile(r"[0-9a-f]{8,}")


def lines(judgement: Judgement, table: Table, unused: list[Rule]) -> Iterator[str]:
    """The unexplained differences, how often each rule was used, and the figures."""
    yield from _unexplained(judgement.unexplained)
    yield from _table(judgement, table)
    for rule in unused:
        yield f"this entry of the table allows nothing any more: {rule.reason}"
        yield f"    questions {rule.questions}, fields {rule.fields}"
    yield (
        f"{judgement.same} answers are the same in every field, {judgement.allowed} but for allowed ones"
        f" ({sum(one.rule is not None for one in judgement.found)} fields)"
    )
    yield (
        f"fidelity: {judgement.equal} of {judgement.answers} answers equal,"
        f" {len(judgement.unexplained)} fields differ"
    )


def _unexplained(found: list[Found]) -> Iterator[str]:
    """One line per field of a kind of question, with how often, and an example."""
    places: dict[tuple[str, str, str], list[Found]] = defaultdict(list)
    for one in found:
        question = _ID.sub("<id>", one.question)
        places[question, one.difference.field, one.difference.kind].append(one)
    for (question, field, kind), several in list(places.items())[:_PLACES]:
        example, times = several[0], f"{len(several)} times " if len(several) > 1 else ""
        where = sorted({f"{one.moments.ending}/{one.moments.view}" for one in several})
        yield f"differs: {question}"
        yield f"    {times}{field}: {kind} ({', '.join(where)})"
        yield f"    live   {_short(example.difference.live)}"
        yield f"    replay {_short(example.difference.replay)}"
    if len(places) > _PLACES:
        yield f"… and {len(places) - _PLACES} more places"


def _table(judgement: Judgement, table: Table) -> Iterator[str]:
    used = Counter(id(one.rule) for one in judgement.found if one.rule)
    groups = {"ticking": table.ticking, "ended": table.ended, "ours": table.ours}
    for name, rules in groups.items():
        for rule in rules:
            if used[id(rule)]:
                yield f"allowed ({name}), {used[id(rule)]} fields: {rule.reason}"


def _short(value: Any) -> str:
    text = repr(value) if isinstance(value, bytes) else msgspec.json.encode(value).decode()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
