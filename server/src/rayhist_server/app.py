"""The application: routes, and what stands around them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from litestar import Litestar, Router
from litestar.datastructures import State
from litestar.di import Provide

from rayhist.clock import Clock, SystemClock
from rayhist.config import Config
from rayhist.ids import ClusterKind
from rayhist.plugins import Plugins
from rayhist_server import openapi, routes, services
from rayhist_server.access import Access
from rayhist_server.compression import Compression
from rayhist_server.failures import Failures
from rayhist_server.observe import Clocked, Observer
from rayhist_server.session_scope import KIND, SessionRequest, SessionScope
from rayhist_server.sessions import Address

_MAX_BODY_BYTES = 64 * 1024
"""Nothing larger than a login is ever sent to this server."""


def build(
    config: Config, plugins: Plugins, *, clock: Clock | None = None, only: Address | None = None
) -> Litestar:
    """The application for a configuration; with `only`, the session of that address stands at the root.

    Raises `ConfigError` and `PluginError`.
    """
    made = services.make(config, plugins, clock or SystemClock())
    failures = Failures(made.pages, made.distrust)
    observer = Observer(made.metrics)

    @asynccontextmanager
    async def lifespan(_app: Litestar) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await made.close()

    return Litestar(
        route_handlers=[*routes.own(with_list=only is None), *_session_routers(only)],
        dependencies={"services": Provide(lambda: made, sync_to_thread=False, use_cache=True)},
        middleware=[Clocked(), Compression(), Access(made.authenticator)],
        exception_handlers=failures.handlers(),
        before_send=[observer.before_send],
        lifespan=[lifespan],
        state=State({"services": made}),
        request_max_body_size=_MAX_BODY_BYTES,
        openapi_config=openapi.config(made.release),
        logging_config=None,
    )


def _session_routers(only: Address | None) -> list[Router]:
    """One router per kind of address; the answers below are the same."""
    paths = {
        f"/s/{kind}/{{namespace:str}}/{owner}{{cluster:str}}/{{session:str}}": kind
        for kind, owner in (
            (ClusterKind.RAYCLUSTER, ""),
            (ClusterKind.RAYJOB, "{owner:str}/"),
            (ClusterKind.RAYSERVICE, "{owner:str}/"),
        )
    }
    routers = [_session_router(path, kind, None) for path, kind in paths.items()]
    if only is not None:
        routers.append(_session_router("/", only.cluster.kind, only))
    return routers


def _session_router(path: str, kind: ClusterKind, only: Address | None) -> Router:
    options: dict[str, Any] = {KIND: kind}
    return Router(
        path=path,
        route_handlers=routes.of_session(),
        middleware=[SessionScope(only)],
        request_class=SessionRequest,
        opt=options,
        include_in_schema=kind is ClusterKind.RAYCLUSTER,
    )
