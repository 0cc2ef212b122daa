"""Filter, sort, limit: what Ray's state API means by them, run in the index.

Rules and texts: `ray.dashboard.state_api_utils` and `ray.util.state.common` of Ray 2.60.
"""

from __future__ import annotations

from typing import Any

import msgspec

from rayhist.errors import RayhistError
from rayhist.index import Index
from rayhist.resources import Resource, Type

MAX_LIMIT = 10_000
DEFAULT_LIMIT = 100


class BadQuery(RayhistError):
    """The question is wrong; Ray answers 400 with this text."""


class Filter(msgspec.Struct, frozen=True):
    """`column = value`, or `column != value`."""

    column: str
    predicate: str
    value: str


class Query(msgspec.Struct, frozen=True):
    """What to list."""

    filters: tuple[Filter, ...] = ()
    limit: int = DEFAULT_LIMIT
    detail: bool = False
    exclude_driver: bool = True
    """Leave out DRIVER_TASKs; for tasks only."""


class Page(msgspec.Struct, frozen=True):
    """Rows as JSON objects, how many there are in all, and how many the filters left."""

    total: int
    filtered: int
    rows: list[bytes]


def run(index: Index, resource: Resource, query: Query) -> Page:
    """Answer a query.  Raises `BadQuery`."""
    if query.limit > MAX_LIMIT:
        raise BadQuery(
            f"Given limit {query.limit} exceeds the supported limit {MAX_LIMIT}."
            " Use a lower limit, or set the RAY_MAX_LIMIT_FROM_API_SERVER=limit"
        )
    hidden, hidden_values = _hidden(resource, query)
    where, values = _where(resource, query)
    database = index.database
    table = f'"{resource.name}"'
    condition = f"({hidden}) AND ({where})"
    parameters = hidden_values + values
    [total] = database.execute(f"SELECT count(*) FROM {table} WHERE {hidden}", hidden_values).fetchone()
    matched = total
    if query.filters:
        [matched] = database.execute(f"SELECT count(*) FROM {table} WHERE {condition}", parameters).fetchone()
    order = ", ".join(f'"{name}"' for name in resource.order) or "seq"
    body = "base, more" if query.detail else "base, NULL"
    found = database.execute(
        f"SELECT {body} FROM {table} WHERE {condition} ORDER BY {order} LIMIT ?",
        [*parameters, query.limit],
    )
    return Page(total, matched, [joined(base, more) for base, more in found])


def joined(base: bytes, more: bytes | None) -> bytes:
    """One JSON object out of a row's two parts."""
    if not more or more == b"{}":
        return base
    return base[:-1] + b"," + more[1:]


def _hidden(resource: Resource, query: Query) -> tuple[str, list[Any]]:
    if resource.name == "tasks" and query.exclude_driver:
        return "type IS NOT ?", ["driver_task"]
    return "1", []


def _where(resource: Resource, query: Query) -> tuple[str, list[Any]]:
    conditions, values = ["1"], []
    for one in query.filters:
        column = one.column.lower()
        if column not in resource.filterable:
            names = "{" + ", ".join(repr(name) for name in resource.filterable) + "}"
            raise BadQuery(
                f"The given filter column {column} is not supported."
                " Enter filters with –-filter key=value or –-filter key!=value"  # noqa: RUF001 - Ray's own dashes
                f" Supported filter columns: {names}"
            )
        operator = {"=": "IS", "!=": "IS NOT"}[one.predicate]
        conditions.append(f'"{column}" {operator} ?')
        values.append(_typed(one, resource.filterable[column]))
    return " AND ".join(conditions), values


def _typed(one: Filter, kind: Type) -> Any:
    """The filter's value as the column has it.  Raises `BadQuery`."""
    if kind is Type.STRING:
        return one.value.lower()
    if kind is Type.BOOLEAN:
        known = {"true": True, "1": True, "false": False, "0": False}
        if one.value.lower() in known:
            return known[one.value.lower()]
        raise BadQuery(
            f"Invalid filter `--filter {one.column} {one.value}` for a boolean type column."
            " Please provide True|true|1 for True or False|false|0 for False."
        )
    try:
        return int(one.value)
    except ValueError:
        raise BadQuery(
            f"Invalid filter `--filter {one.column} {one.value}` for a int type column."
            f" Please provide an integer filter `--filter {one.column} [int]`"
        ) from None
