"""`rayhist demo`: record a real cluster, kill it, and give its dashboard back."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from rayhist.errors import ConfigError
from rayhist.hookspecs import hookimpl
from rayhist.kinds import Command
from rayhist.plugins import Plugins

if TYPE_CHECKING:
    from rayhist_testkit.cluster.server import HistoryServer
    from rayhist_testkit.demo.record import Recording

_DESCRIPTION = """\
Start a real Ray cluster on this machine, with a collector beside each node; run a workload that succeeds,
fails, crashes and hangs; kill all of it with SIGKILL; then serve the dashboard of the dead cluster from what
was recorded.  Nodes, collectors and server have loopback addresses (Ray itself also listens on all others,
as it always does), and everything but what --keep names is removed at the end."""
_PORT = 8090
_STEPS = 7


def run(argv: Sequence[str], plugins: Plugins) -> int:  # noqa: ARG001 - every command has this form
    chosen = _parser().parse_args(argv)
    for module in ("ray", "psutil"):
        if importlib.util.find_spec(module) is None:
            raise ConfigError(f"the demo needs {module}", remedy="pip install 'rayhist-testkit[demo]'")
    signal.signal(signal.SIGTERM, _interrupt)  # so that nothing started here outlives a plain kill
    with _folder(chosen.keep) as folder:
        return _demo(chosen, folder)


def _demo(chosen: argparse.Namespace, folder: Path) -> int:
    from rayhist_testkit.cluster import ClusterSettings  # noqa: PLC0415 - needs the extra
    from rayhist_testkit.cluster.server import HistoryServer  # noqa: PLC0415 - as above
    from rayhist_testkit.demo.progress import Progress  # noqa: PLC0415 - as above
    from rayhist_testkit.demo.record import record  # noqa: PLC0415 - as above
    from rayhist_testkit.demo.workload import DEMO  # noqa: PLC0415 - as above

    progress = Progress(_STEPS)
    archive = folder / "archive"
    settings = ClusterSettings(
        storage_url=archive.as_uri(), namespace="demo", name="demo", workers=chosen.workers
    )
    recording = record(settings, DEMO, folder / "recording", progress.step)
    progress.step("starting the history server")
    with HistoryServer(settings.storage_url, folder / "server", port=_port(chosen)) as server:
        if chosen.check:
            progress.step("comparing the replay with what the workload made")
            return _check(server, recording)
        progress.step("serving; Ctrl-C ends")
        sys.stdout.write(_guide(server, recording))
        sys.stdout.flush()
        return server.wait()


def _check(server: HistoryServer, recording: Recording) -> int:
    from rayhist_testkit.demo.check import mismatches  # noqa: PLC0415 - needs the extra
    from rayhist_testkit.demo.ending import after_the_end  # noqa: PLC0415 - as above
    from rayhist_testkit.demo.figures import figures  # noqa: PLC0415 - as above

    server.until_ended(recording.session)
    dashboard = server.session(recording.session)
    found = mismatches(dashboard, after_the_end(recording.ledger))
    for mismatch in found:
        sys.stdout.write(f"mismatch: {mismatch}\n")
    sys.stdout.write(figures(dashboard, len(found)) + "\n")
    return 1 if found else 0


def _guide(server: HistoryServer, recording: Recording) -> str:
    session = server.session_url(recording.session) + "#"
    running = recording.ledger.jobs["failed"].id
    actor = recording.ledger.actors["restarted"].id
    return f"""
The cluster is gone; its dashboard is not.

  {server.url}
      every recorded session
  {session}/overview
      this one
  {session}/jobs
      jobs that succeeded, failed, were stopped, and one that was running when the cluster died
  {session}/jobs/{running}
      the failed one: its log, tasks by state, task table, placement groups
  {session}/actors/{actor}
      an actor that crashed and was restarted
  {session}/logs
      the logs of all nodes

"""


def _port(chosen: argparse.Namespace) -> int:
    """The port asked for; else the usual one, unless the server is for the check alone or it is taken."""
    from rayhist_testkit.ports import is_free  # noqa: PLC0415 - needs the extra

    if chosen.port:
        return int(chosen.port)
    return _PORT if not chosen.check and is_free(_PORT) else 0


@contextlib.contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep.absolute()
        return
    with tempfile.TemporaryDirectory(prefix="rayhist-demo-") as folder:
        yield Path(folder)


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="rayhist demo", description=_DESCRIPTION)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "--check",
        action="store_true",
        help="compare the replay with what the workload is known to have made, instead of serving it; "
        "exit status 1 if anything differs",
    )
    parser.add_argument(
        "--keep", metavar="FOLDER", type=Path, help="keep archive, ledger and the programs' output there"
    )
    parser.add_argument("--workers", type=int, default=2, help="worker nodes (default: %(default)s)")
    parser.add_argument("--port", type=int, default=0, help=f"the server's port (default: {_PORT}, if free)")
    return parser


@hookimpl
def rayhist_command() -> Command:
    return Command(api=1, name="demo", summary="record a real cluster, kill it, browse it", run=run)
