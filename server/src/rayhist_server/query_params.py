"""A request's query, read as Ray's dashboard reads it.

Rules and texts: `ray.dashboard.state_api_utils` and `ray.util.state.common` of Ray 2.60.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qs

from rayhist.query import DEFAULT_LIMIT, MAX_LIMIT, BadQuery, Filter, Query

Params = Mapping[str, list[str]]
"""Every parameter's values, in the order they were given; blank ones too."""

_BOOLEANS: Mapping[str, bool] = {
    "True": True,
    "true": True,
    "1": True,
    "False": False,
    "false": False,
    "0": False,
}
_MAX_FILTERS = 100
_MAX_FIELDS = 1000
_SHOWN = 200


def parse(query: bytes) -> Params:
    """Decode a query string.  Raises `BadQuery` if it has too many fields; bad UTF-8 is replaced."""
    try:
        return parse_qs(
            query.decode("latin-1"), keep_blank_values=True, errors="replace", max_num_fields=_MAX_FIELDS
        )
    except ValueError as error:
        raise BadQuery(f"the query cannot be read: {error}") from None


def first(params: Params, name: str, default: str = "") -> str:
    """The first value of a parameter that may be given several times."""
    return params.get(name, [default])[0]


def integer(params: Params, name: str, default: int) -> int:
    """Raises `BadQuery` with the text that Ray answers."""
    text = first(params, name, str(default))
    try:
        return int(text)
    except ValueError:
        raise BadQuery(f"invalid literal for int() with base 10: {text[:_SHOWN]!r}") from None


def boolean(params: Params, name: str, *, default: bool) -> bool:
    """Raises `BadQuery` with the text that Ray answers."""
    text = first(params, name, str(default))
    if text not in _BOOLEANS:
        raise BadQuery(f"Failed to convert a value {text[:_SHOWN]} of type <class 'str'> to <class 'bool'>")
    return _BOOLEANS[text]


def filters(params: Params) -> tuple[Filter, ...]:
    """`filter_keys`, `filter_predicates` and `filter_values`, which belong together by position."""
    keys = params.get("filter_keys", [])
    predicates = params.get("filter_predicates", [])
    values = params.get("filter_values", [])
    if not len(keys) == len(predicates) == len(values):
        raise BadQuery(
            "filter_keys, filter_predicates and filter_values must be given equally often, not"
            f" {len(keys)}, {len(predicates)} and {len(values)} times"
        )
    if len(keys) > _MAX_FILTERS:
        raise BadQuery(f"more than {_MAX_FILTERS} filters")
    for predicate in predicates:
        if predicate not in {"=", "!="}:
            raise BadQuery(
                f"Unsupported filter predicate {predicate[:_SHOWN]} is given. Available predicates: =, !=."
            )
    return tuple(map(Filter, keys, predicates, values))


def list_query(params: Params) -> Query:
    """What a list of the state API asks for.  Raises `BadQuery`."""
    limit = integer(params, "limit", DEFAULT_LIMIT)
    if limit > MAX_LIMIT:
        raise BadQuery(
            f"Given limit {limit} exceeds the supported limit {MAX_LIMIT}. Use a lower limit, or set the"
            " `RAY_MAX_LIMIT_FROM_API_SERVER` environment variable to a larger value."
        )
    integer(params, "timeout", 30)
    if limit < 0:
        raise BadQuery("Stop argument for islice() must be None or an integer: 0 <= x <= sys.maxsize.")
    return Query(
        filters=filters(params),
        limit=limit,
        detail=boolean(params, "detail", default=False),
        exclude_driver=boolean(params, "exclude_driver", default=True),
    )
