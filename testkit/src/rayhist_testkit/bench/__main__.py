"""`make bench-collector`: the collector's cost, as a table with the limits beside it."""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from rayhist.errors import RayhistError
from rayhist_testkit.bench import files, load
from rayhist_testkit.bench.figures import Figure, Run, table, write
from rayhist_testkit.demo.progress import Progress
from rayhist_testkit.servers.seaweedfs import SeaweedFS

_DESCRIPTION = """\
Start real collectors, post events to them over HTTP as Ray does (one connection, at most a thousand events or
a tenth of a second in a batch), lay log files beside them, and say what that costs: processor time with
compression and upload, memory, disk, and how long Ray waits for its 200.  Everything acknowledged has to be
in the archive in the end, once.  Processor time is the process's own, so that other work on the machine
changes it little; latencies and rates are by the clock, and suffer.  Exit status 1 if a limit is not kept."""


def main(argv: Sequence[str] | None = None) -> int:
    chosen = _parser().parse_args(argv)
    signal.signal(signal.SIGTERM, _interrupt)  # so that nothing started here outlives a plain kill
    try:
        with (
            tempfile.TemporaryDirectory(prefix="rayhist-bench-") as name,
            _store(chosen.store, Path(name)) as store,
        ):
            figures = _measured(chosen, store, Path(name))
    except RayhistError as error:
        sys.stderr.write(f"bench-collector: {error}\n" + (f"  {error.remedy}\n" if error.remedy else ""))
        return 2
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    write(Run(machine, chosen.store, figures), chosen.json)
    sys.stdout.write(f"{machine}; store: {chosen.store}; load of the machine: {os.getloadavg()[1]:.1f}\n")
    sys.stdout.writelines(f"{line}\n" for line in table(figures))
    return 0 if all(figure.within for figure in figures) else 1


def _measured(chosen: argparse.Namespace, storage: Mapping[str, Any], folder: Path) -> list[Figure]:
    step = Progress().step
    figures: list[Figure] = []
    for rate in chosen.rates:
        step(f"{rate:,} events/s" if rate else "as many events as it takes")
        figures += load.measure(rate, chosen.seconds, chosen.interval, storage, folder / f"events-{rate}")
    if chosen.logs:
        step(f"{chosen.logs} MB of logs")
        figures += files.throughput(chosen.logs, storage, folder / "logs")
    if chosen.idle:
        step(f"{chosen.files:,} open log files")
        figures += files.idle(chosen.files, chosen.idle, storage, folder / "idle")
    return figures


@contextlib.contextmanager
def _store(kind: str, folder: Path) -> Iterator[Mapping[str, Any]]:
    if kind == "file":
        yield {"url": (folder / "archive").as_uri()}
        return
    with SeaweedFS(folder / "seaweedfs") as server:
        yield {"url": server.url("bench"), "options": server.options()}


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _rates(text: str) -> list[int]:
    return [int(rate) for rate in text.split(",") if rate]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m rayhist_testkit.bench",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    rates = ",".join(map(str, load.RATES))
    parser.add_argument(
        "--rates", type=_rates, default=[*load.RATES], metavar="LIST",
        help=f"events per second, one run each; 0: as many as are taken (default: {rates})",
    )  # fmt: skip
    parser.add_argument("--interval", type=float, default=30, metavar="SECONDS", help="event_interval_s (30)")
    parser.add_argument("--seconds", type=float, default=45, help="of each rate (default: %(default)s)")
    parser.add_argument(
        "--logs", type=int, default=500, metavar="MB", help="of logs; 0: none (default: %(default)s)"
    )
    parser.add_argument(
        "--idle", type=float, default=60, metavar="SECONDS",
        help="beside open log files, twice; 0: not at all (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--files", type=int, default=2000, help="how many (default: %(default)s)")
    parser.add_argument(
        "--store", choices=["s3", "file"], default="s3", help="SeaweedFS (default), or a folder"
    )
    parser.add_argument(
        "--json", type=Path, default=Path("out/bench-collector.json"), help="(default: %(default)s)"
    )
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
