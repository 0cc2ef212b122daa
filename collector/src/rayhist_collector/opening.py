"""Opening what the configuration names, through the plugins' door."""

from __future__ import annotations

from rayhist.config import Config
from rayhist.plugins import Plugins, options_of
from rayhist.storage import Store


def open_store(config: Config, plugins: Plugins) -> Store:
    """The configured archive.  Raises `ConfigError` or `PluginError`."""
    url = config.storage_url()
    kind = plugins.storage_for(url)
    return kind.open(url, options_of(kind, config.storage.options, "$.storage.options"))
