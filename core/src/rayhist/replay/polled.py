"""The lists of the state API among the recorded answers."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec

from rayhist.replay.answers import Answers
from rayhist.replay.status import moment
from rayhist.resources import Resource, Type
from rayhist.source import Answer

_BEYOND_INT64 = 2**63
"""Neither Ray nor an index can hold such a number."""
_STRUCTURED = {"runtime_env"}
"""Columns that Ray lets be filtered as text though they are objects."""
_TYPES = {Type.STRING: str, Type.INTEGER: int, Type.BOOLEAN: bool}


class Remarks(msgspec.Struct, frozen=True):
    """What Ray says beside a list: how many its source counted, and of what it warns."""

    total: int | None = None
    partial_failure_warning: str | None = ""
    warnings: list[str] | None = None


class Listing(msgspec.Struct):
    """A resource's rows as last listed, and when: epoch milliseconds, 0 for never."""

    fetched_at: int = 0
    rows: list[dict[str, Any]] = []
    remarks: Remarks = Remarks()


class _Result(Remarks, frozen=True, kw_only=True):
    result: list[dict[str, Any]]


class _Data(msgspec.Struct):
    result: _Result


class _Envelope(msgspec.Struct):
    data: _Data


def listing(answers: Answers, resource: Resource, problems: list[str]) -> Listing:
    """The last whole list of a resource, with details if any list had them.

    What is wrong with it goes into `problems`.
    """
    found = [one for one in answers.below(f"/api/v0/{resource.name}") if _whole(one, resource)]
    if not found:
        return Listing()
    best = max(found, key=lambda one: (_detailed(one), one.fetched_at))
    try:
        result = msgspec.json.decode(best.body, type=_Envelope).data.result
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        problems.append(f"The recorded answer of {best.endpoint} cannot be read: {error}.")
        return Listing()
    if (result.total or 0) > len(result.result):
        problems.append(
            f"{len(result.result)} of {result.total} {resource.name} are known: the dashboard listed no more"
            f" at {moment(best.fetched_at)}."
        )
    remarks = Remarks(result.total, result.partial_failure_warning, result.warnings)
    return Listing(best.fetched_at, [row for one in result.result if (row := _row(one, resource))], remarks)


def _row(listed: dict[str, Any], resource: Resource) -> dict[str, Any]:
    """The row with all its columns, without values of a wrong type; empty if it names nothing."""
    row = {name: listed.get(name) for name in resource.columns}
    for name, kind in resource.filterable.items():
        if not (isinstance(row[name], dict) if name in _STRUCTURED else _believed(row[name], kind)):
            row[name] = None
    return {} if None in (row[name] for name in resource.order) else row


def _believed(value: Any, kind: Type) -> bool:
    if kind is Type.INTEGER and isinstance(value, int) and abs(value) >= _BEYOND_INT64:
        return False
    return type(value) is _TYPES[kind]


def _whole(answer: Answer, resource: Resource) -> bool:
    parts = urlsplit(answer.endpoint)
    return parts.path == f"/api/v0/{resource.name}" and "filter_keys" not in parts.query


def _detailed(answer: Answer) -> bool:
    return parse_qs(urlsplit(answer.endpoint).query).get("detail", [""])[0].lower() in {"1", "true"}
