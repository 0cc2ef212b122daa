"""`rayhist collect`: records what happens on one Ray node."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rayhist.cli import parser
from rayhist.config import to_builtins
from rayhist.hookspecs import hookimpl
from rayhist.kinds import Command
from rayhist.plugins import Plugins

if TYPE_CHECKING:
    from rayhist_collector.starting import Start

_DESCRIPTION = """\
Record what happens on one Ray node, head or worker, into the archive: Ray's events, every log file of the
session and, beside the head, what only the dashboard knows.  Start one beside each node, before or after Ray.

  eval "$(rayhist collect --print-ray-env)"      on every node, before `ray start`
  rayhist collect --config rayhist.toml          beside it

In a pod of KubeRay's history server (STORAGE_BACKEND is set) no file is needed: the variables of its
collector are understood, see --print-config.

Whatever is not there yet (Ray, the session's folder, the archive) is waited for.  SIGTERM or Ctrl-C ends it
with a last sweep; what could not be sent by then stays on disk for the next start."""


def run(argv: Sequence[str], plugins: Plugins) -> int:
    chosen = _arguments().parse_args(argv)
    from rayhist_collector import app, redaction_trial, starting  # noqa: PLC0415 - `--help` needs none of it

    if chosen.print_ray_env:
        sys.stdout.write(app.ray_settings(chosen.config, plugins))
        return 0
    if chosen.print_config:
        return _print_config(starting.settle(chosen.config, plugins))
    if chosen.redaction_test:
        config = starting.settle(chosen.config, plugins).config
        sys.stdout.write(redaction_trial.report(config, chosen.redaction_test))
        return 0
    return app.main(chosen.config, plugins, once=chosen.once)


def _print_config(start: Start) -> int:
    """Warnings go to standard error."""
    for warning in start.warnings:
        sys.stderr.write(f"warning: {warning}\n")
    sys.stdout.write(json.dumps(to_builtins(start.config), indent=2) + "\n")
    return 0


def _arguments() -> argparse.ArgumentParser:
    made = parser("collect", _DESCRIPTION)
    made.add_argument(
        "--print-ray-env", action="store_true", help="print the settings that Ray needs, for a shell"
    )
    made.add_argument(
        "--print-config",
        action="store_true",
        help="print the configuration that would be used, also if KubeRay's variables made it, and end",
    )
    made.add_argument(
        "--redaction-test",
        metavar="FILE",
        help="show what of this file would be redacted (events, answers or logs), and why",
    )
    made.add_argument(
        "--once",
        action="store_true",
        help="record what is there now, send it, and end: no events are waited for",
    )
    return made


@hookimpl
def rayhist_command() -> Command:
    return Command(api=1, name="collect", summary="record what happens on one Ray node", run=run)
