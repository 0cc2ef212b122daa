"""`@answers`: a route for GET, and for HEAD with the same headers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from litestar import HttpMethod, route
from litestar.handlers import HTTPRouteHandler


def answers(path: str | list[str], **opt: Any) -> Callable[[Callable[..., Any]], HTTPRouteHandler]:
    """Register a function for a path; `opt` is what the middleware looks at."""
    return route(path, http_method=[HttpMethod.GET, HttpMethod.HEAD], opt=opt, status_code=200)
