"""The application's parts, made once from the configuration."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version

from rayhist.auth import Authenticator
from rayhist.clock import Clock
from rayhist.config import Config
from rayhist.plugins import Plugins, options_of
from rayhist.storage import Store
from rayhist_server.builder import Builder
from rayhist_server.cache import IndexCache
from rayhist_server.frontend import Frontends
from rayhist_server.loader import Loader
from rayhist_server.metrics import Metrics
from rayhist_server.pages import Pages
from rayhist_server.sessions import Sessions


@dataclass(frozen=True, slots=True)
class Services:
    """What the routes use."""

    config: Config
    store: Store
    authenticator: Authenticator
    metrics: Metrics
    sessions: Sessions
    loader: Loader
    frontends: Frontends
    pages: Pages
    release: str
    """This distribution's version."""

    async def close(self) -> None:
        await self.sessions.close()
        await self.loader.close()
        await self.store.close()


def make(config: Config, plugins: Plugins, clock: Clock) -> Services:
    """Load the chosen plugins and open what they describe.  Raises `ConfigError` and `PluginError`."""
    storage = plugins.storage_for(config.storage_url())
    auth = plugins.auth(config.auth.kind)
    authenticator = auth.open(options_of(auth, config.auth.options, "$.auth.options"))
    options = options_of(storage, config.storage.options, "$.storage.options")
    store = storage.open(config.storage_url(), options)
    server, folder, metrics = config.server, config.cache_folder(), Metrics()
    cache = IndexCache(
        folder / "indexes",
        store.location,
        max_bytes=config.cache.max_bytes,
        max_sessions=config.cache.max_sessions,
    )
    builder = Builder(
        store,
        cache,
        clock,
        metrics,
        workers=server.replay_workers,
        lost_after_s=server.lost_after_s,
        max_bytes=config.cache.max_bytes,
    )
    interval = server.refresh_interval_s
    loader = Loader(store, builder, clock, open_sessions=server.open_sessions, refresh_interval_s=interval)
    metrics.gauge("rayhist_server_open_sessions", "Sessions held open.", lambda: loader.open_count)
    metrics.gauge("rayhist_server_loading_sessions", "Sessions being opened.", lambda: loader.loading_count)
    metrics.gauge("rayhist_server_cache_files", "Files in the cache.", lambda: cache.usage()[0])
    metrics.gauge("rayhist_server_cache_bytes", "Bytes in the cache.", lambda: cache.usage()[1])
    return Services(
        config=config,
        store=store,
        authenticator=authenticator,
        metrics=metrics,
        sessions=Sessions(store, clock, refresh_interval_s=interval, lost_after_s=server.lost_after_s),
        loader=loader,
        frontends=Frontends(store, folder / "frontends", clock, refresh_interval_s=interval),
        pages=Pages(),
        release=version("rayhist-server"),
    )
