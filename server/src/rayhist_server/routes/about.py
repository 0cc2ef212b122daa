"""A session's own page: what it was, all its nodes with their logs, and how complete the recording is."""

from __future__ import annotations

import asyncio
import sqlite3

from litestar import Response
from litestar.di import NamedDependency

from rayhist.errors import DataError, NotFound, RayhistError
from rayhist_server import about
from rayhist_server.about import About
from rayhist_server.failures import status_of
from rayhist_server.loader import Loading
from rayhist_server.routes.answering import answers
from rayhist_server.services import Services
from rayhist_server.session_scope import NO_INDEX, PAGE, PAGE_WAIT_S, SessionRequest, opened
from rayhist_server.sessions import ABOUT


@answers(f"/{ABOUT}", **{PAGE: True, NO_INDEX: True})
async def page(request: SessionRequest, services: NamedDependency[Services]) -> Response[str]:
    """The session's page; of one that cannot be opened, what its marker says and why not."""
    status = 200
    try:
        async with opened(request.scope, PAGE_WAIT_S) as view:
            shown = await asyncio.to_thread(about.of_view, view)
    except RayhistError as error:
        shown, status = await _unopened(request, services, error), status_of(error)
    return services.pages.about(shown, request.scope, status=status, last_known=request.last_known)


HANDLERS = [page]


async def _unopened(request: SessionRequest, services: Services, error: RayhistError) -> About:
    """Raises the error where the list knows nothing of the session, or where it will soon be open."""
    damaged_index = isinstance(error, DataError) and isinstance(error.__cause__, sqlite3.DatabaseError)
    if isinstance(error, Loading | NotFound) or damaged_index:
        raise error
    entry = await services.sessions.entry(request.recorded)
    if entry is None:
        raise error
    return about.of_entry(entry, error)
