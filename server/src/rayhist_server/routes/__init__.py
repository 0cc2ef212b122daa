"""The routes: this server's own, and those that a session's dashboard had."""

from __future__ import annotations

from collections.abc import Sequence

from litestar.types import ControllerRouterHandler

from rayhist_server.routes import (
    about,
    absent,
    actors,
    applications,
    cluster,
    events,
    health,
    home,
    jobs,
    kuberay,
    login,
    logs,
    nodes,
    state,
    static,
    summaries,
)


def own(*, with_list: bool) -> Sequence[ControllerRouterHandler]:
    """What stands at the server's root; without the list's page where a session stands there."""
    listing = [*home.LIST, *kuberay.HANDLERS, *login.SESSION_HANDLERS] if with_list else []
    return [*listing, *home.HANDLERS, *health.HANDLERS, *login.HANDLERS]


def of_session() -> Sequence[ControllerRouterHandler]:
    """What stands below each session."""
    return [*about.HANDLERS, *static.HANDLERS, *login.SESSION_HANDLERS, *of_chosen_session()]


def of_chosen_session() -> Sequence[ControllerRouterHandler]:
    """What stands at the root for a session that was chosen before: its API."""
    modules = (absent, actors, applications, cluster, events, jobs, logs, nodes, state, summaries)
    return [handler for module in modules for handler in module.HANDLERS]
