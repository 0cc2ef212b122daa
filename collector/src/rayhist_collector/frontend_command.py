"""`rayhist frontend add | list`: the dashboard's own pages, by Ray version, in the archive."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from rayhist.cli import parser
from rayhist.hookspecs import hookimpl
from rayhist.kinds import Command
from rayhist.plugins import Plugins

_DESCRIPTION = """\
A recorded session is shown in the dashboard of its own Ray version.  The head's collector records those
pages by itself; this command does it by hand, for a cluster that was recorded without them.

  rayhist frontend add --version 2.60.0                    from the Ray installed here
  rayhist frontend add --version 2.60.0 --wheel ray-2.60.0-cp311-cp311-manylinux2014_x86_64.whl
  rayhist frontend add --version 2.60.0 --folder …/ray/dashboard/client/build
  rayhist frontend list"""


def run(argv: Sequence[str], plugins: Plugins) -> int:
    chosen = _arguments().parse_args(argv)
    from rayhist_collector import frontend_store  # noqa: PLC0415 - `--help` needs none of it

    if chosen.action == "list":
        return frontend_store.show(chosen.config, plugins)
    return frontend_store.add(
        chosen.config, plugins, version=chosen.version, wheel=chosen.wheel, folder=chosen.folder
    )


def _arguments() -> argparse.ArgumentParser:
    made = parser("frontend", _DESCRIPTION)
    actions = made.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="the versions that the archive has")
    add = actions.add_parser("add", help="record one version")
    add.add_argument("--version", required=True, help="the Ray version, such as 2.60.0")
    place = add.add_mutually_exclusive_group()
    place.add_argument("--wheel", metavar="FILE", help="a wheel of that Ray version")
    place.add_argument("--folder", metavar="DIR", help="the folder that holds the build's index.html")
    return made


@hookimpl
def rayhist_command() -> Command:
    return Command(api=1, name="frontend", summary="record the dashboard's own pages by hand", run=run)
