"""The application: routes, and what stands around them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from litestar import Litestar, Router
from litestar.datastructures import State
from litestar.di import Provide
from litestar.middleware import ASGIMiddleware
from litestar.types import ControllerRouterHandler

from rayhist.clock import Clock, SystemClock
from rayhist.config import Config
from rayhist.ids import ClusterKind
from rayhist.plugins import Plugins
from rayhist_server import openapi, routes, services
from rayhist_server.access import Access
from rayhist_server.chosen import Refreshed, address_of
from rayhist_server.compression import Compression
from rayhist_server.failures import Failures
from rayhist_server.observe import Clocked, Observer
from rayhist_server.session_scope import KIND, SessionRequest, SessionScope, in_path
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
    """One router per kind of address; the answers below are the same.

    At the root stands the one session, or, for KubeRay's clients, the one that a request's cookies name.
    """
    paths = {
        f"/s/{kind}/{{namespace:str}}/{owner}{{cluster:str}}/{{session:str}}": kind
        for kind, owner in (
            (ClusterKind.RAYCLUSTER, ""),
            (ClusterKind.RAYJOB, "{owner:str}/"),
            (ClusterKind.RAYSERVICE, "{owner:str}/"),
        )
    }
    of_session = routes.of_session()
    routers = [_router(path, of_session, [SessionScope(in_path)], kind) for path, kind in paths.items()]
    if only is not None:
        return [*routers, _router("/", of_session, [SessionScope(lambda _scope: only)])]
    return [*routers, _router("/", routes.of_chosen_session(), [Refreshed(), SessionScope(address_of)])]


def _router(
    path: str,
    handlers: Sequence[ControllerRouterHandler],
    middleware: Sequence[ASGIMiddleware],
    kind: ClusterKind | None = None,
) -> Router:
    return Router(
        path=path,
        route_handlers=handlers,
        middleware=middleware,
        request_class=SessionRequest,
        opt={KIND: kind},
        include_in_schema=kind is ClusterKind.RAYCLUSTER,
    )
