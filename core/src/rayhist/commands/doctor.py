"""`rayhist doctor`: check a configuration from where it runs."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence

import msgspec

from rayhist import config
from rayhist.cli import parser
from rayhist.commands.config import check as check_configuration
from rayhist.doctor import Finding, Report, Role, State, examine
from rayhist.errors import RayhistError
from rayhist.hookspecs import hookimpl
from rayhist.kinds import Command
from rayhist.plugins import Plugins, options_of
from rayhist.storage import Store

_ABOUT = """\
Check a configuration from where it runs: in the collector's container, or in the server's.

It says which plugin keeps the archive, as whom it is asked and where that identity was found, tries what the
role needs, and gives a remedy for each failure:
  collector  list, write, read and delete one scratch object below rayhist-doctor/, which it takes away again
  server     list and read what is there; it writes nothing
Nothing else is changed.  The exit status is 0 if nothing failed, 1 if something did, and 2 if the
configuration cannot be read."""
_MIB = 1024 * 1024


def run(argv: Sequence[str], plugins: Plugins) -> int:
    arguments = parser("doctor", _ABOUT)
    arguments.add_argument(
        "--as",
        dest="role",
        choices=[role.value for role in Role],
        help="default: collector if `rayhist collect` is installed here, else server",
    )
    arguments.add_argument("--json", action="store_true", help="one JSON object per finding and line")
    arguments.add_argument(
        "--size", type=int, default=8, metavar="MIB", help="size of the scratch object in MiB (default: 8)"
    )
    arguments.add_argument(
        "--limit", type=float, default=60.0, metavar="S", help="seconds for each check (default: 60)"
    )
    chosen = arguments.parse_args(argv)
    if not 0 < chosen.size <= 1024 or chosen.limit <= 0:
        arguments.error("--size: from 1 to 1024 MiB; --limit: more than 0 s")
    role = Role(chosen.role or _role_here(plugins))
    loaded = config.load(chosen.config)
    show = _as_json if chosen.json else _as_text
    if not chosen.json:
        sys.stdout.write(f"{loaded.storage_url()}, as the {role}\n")
    failed = []

    def report(finding: Finding) -> None:
        sys.stdout.write(show(finding))
        sys.stdout.flush()
        if finding.state is State.FAILED:
            failed.append(finding)

    store = _opened(loaded, plugins, report)
    if store is not None:
        asyncio.run(_examine(store, role, report, chosen.size * _MIB, chosen.limit))
    return 1 if failed else 0


def _role_here(plugins: Plugins) -> Role:
    installed = {found.name for found in plugins.found("command")}
    return Role.COLLECTOR if "collect" in installed else Role.SERVER


def _opened(loaded: config.Config, plugins: Plugins, report: Report) -> Store | None:
    """The archive's store; `None` after a failure that is reported."""
    url = loaded.storage_url()
    try:
        kind = plugins.storage_for(url)
        [found] = [found for found in plugins.found("storage") if found.name == kind.name]
        report(Finding("plugin", State.OK, str(found)))
        check_configuration(loaded, plugins)
        report(Finding("configuration", State.OK, "every plugin it names is installed and takes its options"))
        return kind.open(url, options_of(kind, loaded.storage.options, "$.storage.options"))
    except RayhistError as error:
        report(Finding("open", State.FAILED, str(error), error.remedy or "see: rayhist config check"))
        return None


async def _examine(store: Store, role: Role, report: Report, sample_bytes: int, limit_s: float) -> None:
    async with store:
        await examine(store, role, report, environment=os.environ, sample_bytes=sample_bytes, limit_s=limit_s)


def _as_json(finding: Finding) -> str:
    return msgspec.json.encode(finding).decode() + "\n"


def _as_text(finding: Finding) -> str:
    """What a server sends is shown without anything that a terminal would obey."""
    line = f"  {finding.state:8} {finding.check:14} {_plain(finding.text)}\n"
    return line + (f"  {'':8} {'':14} remedy: {_plain(finding.remedy)}\n" if finding.remedy else "")


def _plain(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)


@hookimpl
def rayhist_command() -> Command:
    return Command(api=1, name="doctor", summary="check the configuration from where it runs", run=run)
