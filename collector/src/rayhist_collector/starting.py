"""What a collector starts with: the configuration, where it came from, and what is to be said about it."""

from __future__ import annotations

import json
import os
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any, NamedTuple

from rayhist.config import Collector, Config, load
from rayhist.errors import ConfigError, PluginError
from rayhist.plugins import Plugins
from rayhist_collector import kuberay


class Start(NamedTuple):
    """`operated`: KubeRay's operator made the environment, so whatever is wrong, the process stays up."""

    config: Config
    warnings: tuple[str, ...] = ()
    operated: bool = False


def settle(path: str | None, plugins: Plugins, environment: MutableMapping[str, str] = os.environ) -> Start:
    """The configuration: the file's and the environment's, on top of what KubeRay's operator says.

    Raises `ConfigError`, but not beside the operator's variables: then what is wrong is left out, and said.
    """
    if not kuberay.is_operated(environment):
        return Start(load(path, environment))
    document, warnings, secrets = kuberay.translate(environment, _read_json)
    environment.update(secrets)
    document, unknown = _known(document, plugins)
    warnings += unknown
    try:
        return Start(load(path, environment, document), warnings, operated=True)
    except ConfigError as error:
        warnings += (f"{error}; only KubeRay's variables are taken",)
        return Start(load(None, {}, document), warnings, operated=True)


def _read_json(path: str) -> object:
    return json.loads(Path(path).read_text(encoding="utf-8"))


def _known(document: dict[str, Any], plugins: Plugins) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The document without what the installed plugins do not know: those may be older or newer than this."""
    warnings = []
    storage, collector = dict(document["storage"]), dict(document["collector"])
    try:
        known = plugins.storage_for(storage["url"]).options.__struct_fields__
    except (ConfigError, PluginError):
        known = tuple(storage.get("options", ()))  # said when the archive is opened
    for section, names in ((storage.get("options", {}), known), (collector, Collector.__struct_fields__)):
        for name in sorted(section.keys() - set(names)):
            del section[name]
            warnings.append(f"the setting {name} is not known to this version; it is left out")
    return document | {"storage": storage, "collector": collector}, tuple(warnings)
