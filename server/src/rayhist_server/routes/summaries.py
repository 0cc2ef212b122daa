"""`/api/v0/<resource>/summarize`, and the tasks' timeline."""

from __future__ import annotations

from litestar.handlers import HTTPRouteHandler

HANDLERS: list[HTTPRouteHandler] = []
