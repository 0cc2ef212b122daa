"""Filter, sort, limit: what Ray's state API means by them, run in the index.

Rules and texts: `ray.dashboard.state_aggregator`, `ray.dashboard.state_api_utils` and
`ray.util.state.common` of Ray 2.60.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from rayhist.errors import RayhistError
from rayhist.ids import IdKind
from rayhist.index import Index
from rayhist.resources import Resource, Type

MAX_LIMIT = 10_000
DEFAULT_LIMIT = 100
MAX_FILTERS = 100

_MAX_INTEGER = 2**63 - 1

_AT_SOURCE = {"tasks": ("task_id", "job_id", "actor_id", "name", "state")}
"""Filters that Ray's source applies before it counts, so that they make the total smaller."""

_SELECTED = {"nodes": ("node_id", "state", "node_name")}
"""Filters (`=` only) that Ray's source applies after it has counted, as if it had cut the list."""

_IDS: Mapping[str, Mapping[str, IdKind]] = {
    "tasks": {"task_id": IdKind.TASK, "job_id": IdKind.JOB, "actor_id": IdKind.ACTOR},
    "actors": {"actor_id": IdKind.ACTOR, "job_id": IdKind.JOB},
    "nodes": {"node_id": IdKind.NODE},
}
"""Columns of ids that Ray decodes, and so refuses what is no id."""

_STATES: Mapping[str, tuple[str, ...]] = {
    "actor": ("DEPENDENCIES_UNREADY", "PENDING_CREATION", "ALIVE", "RESTARTING", "DEAD"),
    "node": ("ALIVE", "DEAD"),
}
"""States that Ray's source looks up by name, and so refuses what is none."""


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
    """Rows as JSON objects, and how many there are: as Ray counts them.

    `total` is what Ray's source says there is, `after_truncation` what it hands over, and `filtered` what
    the filters leave of that.  Nothing is ever cut off here before it is counted.
    """

    total: int
    filtered: int
    rows: list[bytes]
    after_truncation: int


class Condition(msgspec.Struct, frozen=True):
    """A condition in SQL, and its values."""

    sql: str = "1"
    values: tuple[Any, ...] = ()

    def __and__(self, other: Condition) -> Condition:
        return Condition(f"({self.sql}) AND ({other.sql})", self.values + other.values)


def run(index: Index, resource: Resource, query: Query) -> Page:
    """Answer a query.  Raises `BadQuery`, and `DataError` if the index is damaged."""
    _check_limit(query.limit)
    visible = _visible(resource, query)
    wanted = condition(resource, query)
    total = _count(index, resource, visible & _where(resource, _only(query, _AT_SOURCE, resource)))
    selected = _only(query, _SELECTED, resource, predicates=("=",))
    order = ", ".join(f'"{name}"' for name in (*resource.order, "seq"))
    found = select(
        index, resource, _body(resource, detail=query.detail), wanted, f"ORDER BY {order} LIMIT {query.limit}"
    )
    return Page(
        total=total,
        filtered=_count(index, resource, wanted) if query.filters else total,
        rows=list(_flat_rows(resource, found) if resource.flat else (joined(*row) for row in found)),
        after_truncation=_count(index, resource, _where(resource, selected)) if selected else total,
    )


def select(
    index: Index, resource: Resource, what: str, wanted: Condition, then: str = ""
) -> Iterator[tuple[Any, ...]]:
    """Run a query over a resource's table: the columns `what`, and `then` what follows the condition.

    Both are SQL, so nothing that a user wrote may be in them.  Raises `DataError` if the index is damaged.
    """
    return index.read(f'SELECT {what} FROM "{resource.name}" WHERE {wanted.sql} {then}', wanted.values)


def condition(resource: Resource, query: Query) -> Condition:
    """The rows that a query is about.  Raises `BadQuery`."""
    if len(query.filters) > MAX_FILTERS:
        raise BadQuery(f"There are {len(query.filters)} filters, more than {MAX_FILTERS}.")
    return _visible(resource, query) & _where(resource, query.filters)


def joined(base: bytes, more: bytes | None) -> bytes:
    """One JSON object out of a row's two parts."""
    if not more or more == b"{}":
        return base
    return base[:-1] + b"," + more[1:]


def _check_limit(limit: int) -> None:
    if limit > MAX_LIMIT:
        raise BadQuery(
            f"Given limit {limit} exceeds the supported limit {MAX_LIMIT}. Use a lower limit, or set the"
            " `RAY_MAX_LIMIT_FROM_API_SERVER` environment variable to a larger value."
        )
    if limit < 0:
        raise BadQuery("Stop argument for islice() must be None or an integer: 0 <= x <= sys.maxsize.")


def _count(index: Index, resource: Resource, counted: Condition) -> int:
    [[number]] = select(index, resource, "count(*)", counted)
    return int(number)


def _body(resource: Resource, *, detail: bool) -> str:
    more = "more" if detail else "NULL"
    return ", ".join([more, *(f'"{name}"' for name in resource.base)]) if resource.flat else f"base, {more}"


def _flat_rows(resource: Resource, rows: Iterable[tuple[Any, ...]]) -> Iterator[bytes]:
    encode = msgspec.json.Encoder().encode
    for more, *values in rows:
        yield joined(encode(dict(zip(resource.base, values, strict=True))), more)


def _visible(resource: Resource, query: Query) -> Condition:
    if resource.name == "tasks" and query.exclude_driver:
        return Condition("type IS NOT ?", ("DRIVER_TASK",))
    return Condition()


def _only(
    query: Query,
    columns: Mapping[str, tuple[str, ...]],
    resource: Resource,
    predicates: tuple[str, ...] = ("=", "!="),
) -> list[Filter]:
    names = columns.get(resource.name, ())
    return [one for one in query.filters if one.column.lower() in names and one.predicate in predicates]


def _where(resource: Resource, filters: Iterable[Filter]) -> Condition:
    made = Condition()
    for one in filters:
        made &= _compared(resource, one)
    return made


def _compared(resource: Resource, one: Filter) -> Condition:
    """A filter as a condition; what has no value is equal to none, and in a sparse column unequal to none.

    Raises `BadQuery`.
    """
    column = one.column.lower()
    if column not in resource.filterable:
        names = "{" + ", ".join(repr(name) for name in resource.filterable) + "}"
        raise BadQuery(
            f"The given filter column {column[:100]} is not supported."
            " Enter filters with –-filter key=value or –-filter key!=value"  # noqa: RUF001 - Ray's own dashes
            f" Supported filter columns: {names}"
        )
    operators = {"=": "IS", "!=": "<>" if column in resource.sparse else "IS NOT"}
    if one.predicate not in operators:
        raise BadQuery(
            f"Unsupported filter predicate {one.predicate[:100]} is given. Available predicates: =, !=."
        )
    value = _typed(one, resource.filterable[column])
    if one.predicate == "=" or resource.name == "tasks":  # else Ray's source does not look at the value
        _check_id(resource, column, value)
        _check_state(resource, column, value)
    if isinstance(value, str) and not value.isascii() and column not in _AT_SOURCE.get(resource.name, ()):
        # SQLite knows the case of ASCII letters only, as Ray's source does; `folded` is Python's `str.lower`.
        return Condition(f'folded("{column}") {operators[one.predicate]} ?', (value.lower(),))
    return Condition(f'"{column}" {operators[one.predicate]} ?', (value,))


def _typed(one: Filter, kind: Type) -> Any:
    """The filter's value as the column has it.  Raises `BadQuery`."""
    if kind is Type.STRING:
        return one.value.encode(errors="replace").decode()
    if kind is Type.BOOLEAN:
        known = {"true": True, "1": True, "false": False, "0": False}
        if one.value.lower() in known:
            return known[one.value.lower()]
        raise BadQuery(
            f"Invalid filter `--filter {one.column} {one.value[:100]}` for a boolean type column. Please"
            f" provide `--filter {one.column} [True|true|1]` for True or"
            f" `--filter {one.column} [False|false|0]` for False."
        )
    try:
        number = int(one.value)
    except ValueError:
        number = _MAX_INTEGER + 1
    if abs(number) > _MAX_INTEGER:
        raise BadQuery(
            f"Invalid filter `--filter {one.column} {one.value[:100]}` for a int type column."
            f" Please provide an integer filter `--filter {one.column} [int]`"
        )
    return number


def _check_id(resource: Resource, column: str, value: Any) -> None:
    kind = _IDS.get(resource.name, {}).get(column)
    if kind is None:
        return
    try:
        raw = binascii.unhexlify(value)
    except ValueError as error:
        raise BadQuery(str(error)) from None
    if len(raw) != kind.size:
        raise BadQuery(f"ID string needs to have length {kind.size}, got {len(raw)}")


def _check_state(resource: Resource, column: str, value: Any) -> None:
    thing = resource.name.removesuffix("s")
    if column == "state" and thing in _STATES and value.upper() not in _STATES[thing]:
        raise BadQuery(f"Invalid {thing} state for filtering: {value.upper()[:100]}")
