"""`rayhist import`: files as a session what no collector recorded."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rayhist.cli import parser
from rayhist.config import ByteSize, Config
from rayhist.errors import BadIdentifier, ConfigError
from rayhist.hookspecs import hookimpl
from rayhist.kinds import Command
from rayhist.plugins import Plugins

if TYPE_CHECKING:
    from rayhist.ids import Cluster, Session
    from rayhist.redaction import Redactor
    from rayhist_collector.importing.context import Import
    from rayhist_collector.importing.tree import NodeLogs
    from rayhist_collector.tail import Mask

_ABOUT = """\
File as a session what no collector recorded, so that the server shows it like any other.

  rayhist import /tmp/ray                       every session in Ray's temp dir
  rayhist import logs.tar.gz --cluster nightly  logs that somebody gathered, of one node or of several:
                                                a folder, .tar, .tar.gz, .tar.xz, .tar.bz2 or .zip
  rayhist import http://127.0.0.1:8265          all that a live dashboard will say, once

What is in it decides: a session's name and a node's id are read from the folders' names and the logs, and
what was not there is said, here and on the session's page.  Doing it again writes nothing twice; the temp
dirs of several nodes can be imported one by one, under the same --cluster and --namespace.  Secrets in
runtime environments are redacted as `[redaction]` says.  With Ray's token login, set RAY_AUTH_TOKEN."""
_INTERVAL_S = 2.0


def run(argv: Sequence[str], plugins: Plugins) -> int:
    chosen = _arguments().parse_args(argv)
    from rayhist_collector.starting import settle  # noqa: PLC0415 - `--help` needs none of it

    config = settle(chosen.config, plugins).config
    sessions = asyncio.run(_import(chosen, config, plugins))
    for session in sessions:
        sys.stdout.write(f"{session.path}\n")
    return 0


def _arguments() -> argparse.ArgumentParser:
    made = parser("import", _ABOUT)
    made.add_argument("source", metavar="SOURCE", help="a folder, an archive, or a dashboard's address")
    made.add_argument("--cluster", metavar="NAME", help="the cluster's name (default: [cluster] name)")
    made.add_argument("--namespace", metavar="NAME", help="its namespace (default: [cluster] namespace)")
    made.add_argument("--session", default="", metavar="NAME", help="the session's name, if nothing tells it")
    made.add_argument("--node", default="", metavar="ID", help="the node's id in hex, if nothing tells it")
    made.add_argument("--ray-version", default="", metavar="X.Y.Z", help="Ray's version, if no log tells it")
    made.add_argument(
        "--max-bytes",
        default="50GiB",
        metavar="SIZE",
        help="most bytes to unpack of an archive (default: 50GiB)",
    )
    made.add_argument("--quiet", action="store_true", help="print the sessions' names only")
    return made


async def _import(chosen: argparse.Namespace, config: Config, plugins: Plugins) -> list[Session]:
    from rayhist.clock import SystemClock  # noqa: PLC0415 - as above
    from rayhist_collector.importing.context import Import  # noqa: PLC0415
    from rayhist_collector.opening import open_store  # noqa: PLC0415

    say = _silent if chosen.quiet else _say
    redactor, mask = _redaction(config, plugins)
    cluster = _cluster(chosen, config)
    async with open_store(config, plugins) as store:
        context = Import(store, cluster, SystemClock(), redactor, mask, say, _Progress(say).add)
        if _is_address(chosen.source):
            return [await _from_dashboard(chosen, context)]
        return await _from_files(chosen, context)


def _cluster(chosen: argparse.Namespace, config: Config) -> Cluster:
    from msgspec.structs import replace  # noqa: PLC0415 - as above

    given = {"name": chosen.cluster, "namespace": chosen.namespace}
    return replace(config.cluster, **{name: value for name, value in given.items() if value}).cluster()


def _is_address(source: str) -> bool:
    return source.startswith(("http://", "https://")) or (":" in source and not Path(source).exists())


async def _from_dashboard(chosen: argparse.Namespace, context: Import) -> Session:
    from rayhist_collector.importing.dashboard import DashboardImport, client_of  # noqa: PLC0415 - as above

    return await DashboardImport(context, client_of(chosen.source)).run()


async def _from_files(chosen: argparse.Namespace, context: Import) -> list[Session]:
    from rayhist_collector.importing.folder import FolderImport  # noqa: PLC0415 - as above

    with tempfile.TemporaryDirectory(prefix="rayhist-import-") as scratch:
        nodes, what, left_out = await asyncio.to_thread(_look_into, chosen, Path(scratch), context)
        return await FolderImport(context).run(nodes, what, left_out, chosen.ray_version)


def _look_into(
    chosen: argparse.Namespace, scratch: Path, context: Import
) -> tuple[list[NodeLogs], str, Counter[str]]:
    """The nodes that the folder or archive holds, what it is called, and what was left out of it."""
    from rayhist_collector.importing import tree, unpacking  # noqa: PLC0415 - as above

    source = Path(chosen.source).expanduser()
    root, what, left_out = source.resolve(), f"the folder {source.name or source}", Counter[str]()
    if unpacking.is_archive(source):
        limits = unpacking.Limits(_size(chosen.max_bytes))
        root, what = scratch.resolve(), f"the archive {source.name}"
        left_out = unpacking.unpack(source, root, limits, _Progress(context.say, "unpacked").at)
    elif not source.is_dir():
        raise ConfigError(
            f"{source} is no folder" + (", but a file" if source.exists() else ": there is nothing"),
            remedy=f"name a folder, a dashboard's address, or an archive: {', '.join(unpacking.SUFFIXES)}",
        )
    try:
        return tree.find(root, session=chosen.session, node=chosen.node), what, left_out
    except BadIdentifier as error:
        raise ConfigError(str(error), remedy=error.remedy) from error


def _size(text: str) -> int:
    try:
        return ByteSize.parse(text)
    except ValueError as error:
        raise ConfigError(f"--max-bytes: {error}") from error


def _redaction(config: Config, plugins: Plugins) -> tuple[Redactor | None, Mask | None]:
    from rayhist.plugins import options_of  # noqa: PLC0415 - as above
    from rayhist.redaction import Redactor, rules  # noqa: PLC0415
    from rayhist_collector.importing.folder import mask_of  # noqa: PLC0415

    if not config.redaction.enabled:
        return None, None
    redactor = Redactor(rules(config.redaction))
    given = config.collector.source_options.get("log-files", {})
    options = options_of(plugins.source("log-files"), given, "$.collector.source_options.log-files")
    return redactor, mask_of(redactor, options.masked)


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")


def _silent(_: str) -> None:
    pass


class _Progress:
    """Says how far it is, now and then."""

    def __init__(self, say: Callable[[str], None], what: str = "filed") -> None:
        self._say = say
        self._what = what
        self._bytes = 0
        self._due = time.monotonic() + _INTERVAL_S

    def add(self, size: int) -> None:
        self._bytes += size
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + _INTERVAL_S
            self._say(f"  … {self._bytes / (1 << 20):,.0f} MiB {self._what}")

    def at(self, _: int, size: int) -> None:
        self.add(size - self._bytes)


@hookimpl
def rayhist_command() -> Command:
    return Command(api=1, name="import", summary="file logs, or a live dashboard, as a session", run=run)
