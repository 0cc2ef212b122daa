"""`rayhist plugins`: what is installed, and with `-v` whether it loads and what options it takes."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import msgspec

from rayhist import describe, kinds
from rayhist.cli import parser
from rayhist.errors import PluginError
from rayhist.hookspecs import hookimpl
from rayhist.plugins import ROLES, Found, Plugins


def run(argv: Sequence[str], plugins: Plugins) -> int:
    arguments = parser("plugins", "List the installed plugins by role.")
    arguments.add_argument(
        "-v", "--verbose", action="store_true", help="load each one and explain its options"
    )
    chosen = arguments.parse_args(argv)
    broken = 0
    for role in ROLES:
        sys.stdout.write(f"{role}\n")
        for found in plugins.found(role):
            sys.stdout.write(f"  {found.name:14} {found.distribution} {found.version}\n")
            if chosen.verbose:
                broken += _details(plugins, found)
    return 1 if broken else 0


def _details(plugins: Plugins, found: Found) -> int:
    try:
        kind: kinds.Kind = getattr(plugins, found.role)(found.name)
    except PluginError as error:
        sys.stdout.write(f"    BROKEN: {error}\n    remedy: {error.remedy}\n")
        return 1
    if isinstance(kind, kinds.Command):
        sys.stdout.write(f"    {kind.summary}\n")
    options: type[msgspec.Struct] | None = getattr(kind, "options", None)
    for field in describe.fields(options) if options else ():
        default = "required" if field.default is None else f"default {field.default}"
        sys.stdout.write(f"    {field.name:20} {field.text} ({default})\n")
    return 0


@hookimpl
def rayhist_command() -> kinds.Command:
    return kinds.Command(api=1, name="plugins", summary="list the installed plugins", run=run)
