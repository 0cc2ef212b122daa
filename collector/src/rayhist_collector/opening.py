"""Opening what the configuration names, through the plugins' door."""

from __future__ import annotations

from rayhist.config import Config
from rayhist.plugins import Plugins, options_of
from rayhist.storage import Store
from rayhist_collector.late_store import LateStore


def open_store(config: Config, plugins: Plugins, *, patient: bool = False) -> Store:
    """The configured archive.  Raises `ConfigError` or `PluginError`, if `patient` only when it is used."""
    if patient:
        return LateStore(config.storage_url(), lambda: open_store(config, plugins))
    url = config.storage_url()
    kind = plugins.storage_for(url)
    return kind.open(url, options_of(kind, config.storage.options, "$.storage.options"))
