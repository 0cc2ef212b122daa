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
from rayhist_server.view import View


@dataclass(frozen=True, slots=True)
class Services:
    """What the routes use."""

    config: Config
    store: Store
    authenticator: Authenticator
    metrics: Metrics
    sessions: Sessions
    concluded: Loader
    """Sessions with what follows from their end."""
    last_known: Loader
    """Sessions as they were last seen."""
    frontends: Frontends
    pages: Pages
    release: str
    """This distribution's version."""

    def loader(self, *, last_known: bool) -> Loader:
        """What opens sessions in one of their two views."""
        return self.last_known if last_known else self.concluded

    def distrust(self, view: View) -> None:
        """The view's index turned out to be damaged: it will be built anew."""
        self.loader(last_known=not view.concluded).distrust(view)

    async def close(self) -> None:
        await self.sessions.close()
        await self.concluded.close()
        await self.last_known.close()
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
    concluded, last_known = loaders = [
        Loader(
            store,
            builder,
            clock,
            open_sessions=server.open_sessions,
            refresh_interval_s=interval,
            conclude=conclude,
        )
        for conclude in (True, False)
    ]
    metrics.gauge(
        "rayhist_server_open_sessions", "Sessions held open.", lambda: sum(one.open_count for one in loaders)
    )
    metrics.gauge(
        "rayhist_server_loading_sessions",
        "Sessions being opened.",
        lambda: sum(one.loading_count for one in loaders),
    )
    metrics.gauge("rayhist_server_cache_files", "Files in the cache.", lambda: cache.usage()[0])
    metrics.gauge("rayhist_server_cache_bytes", "Bytes in the cache.", lambda: cache.usage()[1])
    return Services(
        config=config,
        store=store,
        authenticator=authenticator,
        metrics=metrics,
        sessions=Sessions(store, clock, refresh_interval_s=interval, lost_after_s=server.lost_after_s),
        concluded=concluded,
        last_known=last_known,
        frontends=Frontends(store, folder / "frontends", clock, refresh_interval_s=interval),
        pages=Pages(),
        release=version("rayhist-server"),
    )
