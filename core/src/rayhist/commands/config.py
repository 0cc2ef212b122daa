"""`rayhist config check | show | schema`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from rayhist import config
from rayhist.cli import parser
from rayhist.hookspecs import hookimpl
from rayhist.kinds import Command
from rayhist.plugins import Plugins, options_of


def run(argv: Sequence[str], plugins: Plugins) -> int:
    arguments = parser("config", "Check, show or describe the configuration.")
    arguments.add_argument(
        "action",
        choices=["check", "show", "schema"],
        help="check: load it, and every plugin it names; show: with the environment laid over it",
    )
    chosen = arguments.parse_args(argv)
    if chosen.action == "schema":
        _print(config.schema(config.Config))
        return 0
    loaded = config.load(chosen.config)
    check(loaded, plugins)
    if chosen.action == "show":
        _print(config.to_builtins(loaded))
    else:
        sys.stdout.write(f"ok: archive {loaded.storage_url()}, auth {loaded.auth.kind}\n")
    return 0


def check(loaded: config.Config, plugins: Plugins) -> None:
    """Load every plugin the configuration names and convert its options.

    Raises `ConfigError` or `PluginError`.
    """
    options_of(plugins.storage_for(loaded.storage_url()), loaded.storage.options, "$.storage.options")
    options_of(plugins.auth(loaded.auth.kind), loaded.auth.options, "$.auth.options")
    loaded.cluster.cluster()
    collector = loaded.collector
    if any(found.name == "collect" for found in plugins.found("command")):  # else there is none to check
        for name in collector.sources:
            given = collector.source_options.get(name, {})
            options_of(plugins.source(name), given, f"$.collector.source_options.{name}")
        for name in collector.sinks:
            given = collector.sink_options.get(name, {})
            options_of(plugins.sink(name), given, f"$.collector.sink_options.{name}")


def _print(document: Any) -> None:
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


@hookimpl
def rayhist_command() -> Command:
    return Command(api=1, name="config", summary="check, show or describe the configuration", run=run)
