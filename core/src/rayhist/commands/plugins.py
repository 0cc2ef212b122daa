"""`rayhist plugins`: what is installed, and with `-v` whether it loads and what options it takes.

`rayhist plugins new storage NAME` writes a skeleton of one.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from rayhist import describe, kinds, skeletons
from rayhist.cli import parser
from rayhist.errors import ConfigError, PluginError
from rayhist.hookspecs import hookimpl
from rayhist.plugins import ROLES, Found, Plugins

_ABOUT = """\
List the installed plugins by role.

`rayhist plugins new storage acme` writes the skeleton of a storage backend: a distribution of its own that
works, with the contract's tests.  "Write a storage backend in an hour" in the documentation explains it."""


def run(argv: Sequence[str], plugins: Plugins) -> int:
    arguments = parser("plugins", _ABOUT)
    arguments.add_argument(
        "-v", "--verbose", action="store_true", help="load each one and explain its options"
    )
    actions = arguments.add_subparsers(dest="action", metavar="new")
    new = actions.add_parser("new", help="write a plugin's skeleton, which works and has its tests")
    new.add_argument("role", choices=skeletons.ROLES)
    new.add_argument("name", help="the word in the configuration and in URLs, such as acme")
    new.add_argument("--into", default=".", metavar="FOLDER", help="where to put it (default: here)")
    chosen = arguments.parse_args(argv)
    if chosen.action == "new":
        return _new(chosen.role, chosen.name, Path(chosen.into), plugins)
    return _listed(plugins, verbose=chosen.verbose)


def _new(role: str, name: str, folder: Path, plugins: Plugins) -> int:
    taken = [found for found in plugins.found(role) if found.name == name]
    if taken:
        raise ConfigError(f"there is a {taken[0]}", remedy="choose another name")
    project = skeletons.write(role, name, folder)
    sys.stdout.write(f"{project}: try it with\n  cd {project} && uv run pytest\n")
    return 0


def _listed(plugins: Plugins, *, verbose: bool) -> int:
    broken = 0
    for role in ROLES:
        sys.stdout.write(f"{role}\n")
        for found in plugins.found(role):
            sys.stdout.write(f"  {found.name:14} {found.distribution} {found.version}\n")
            if verbose:
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
