"""`python -m rayhist_testkit.demo.workload`: run the sections, write the ledger, and hold until killed.

The cluster is the one of `$RAY_ADDRESS`.
"""

from __future__ import annotations

import argparse
import importlib
import signal
from collections.abc import Sequence
from pathlib import Path

import ray

from rayhist_testkit.demo.ledger import Job
from rayhist_testkit.demo.workload import DEMO, FULL, LEDGER
from rayhist_testkit.demo.workload.run import Run, Section


def main(argv: Sequence[str] | None = None) -> int:
    chosen = _parser().parse_args(argv)
    context = ray.init(namespace="demo", log_to_driver=False)
    run = Run(f"http://{context.dashboard_url}", chosen.folder)
    run.ledger.nodes = chosen.nodes
    run.ledger.driver_job = ray.get_runtime_context().get_job_id()
    run.ledger.jobs["workload"] = Job(run.ledger.driver_job, "RUNNING", type="DRIVER")
    _run(run, chosen.sections.split(","))
    run.ledger.write(run.folder / LEDGER)
    signal.pause()  # what is pending or running is to be so when the cluster is killed
    return 0


def _run(run: Run, names: Sequence[str]) -> None:
    begun = []
    for name in names:
        print(f"begin: {name}", flush=True)  # noqa: T201 - the demo shows it as progress
        begun.append((name, _section(name)(run)))
    for name, finish in begun:
        print(f"finish: {name}", flush=True)  # noqa: T201 - as above
        finish()


def _section(name: str) -> Section:
    section: Section = importlib.import_module(f"rayhist_testkit.demo.workload.{name}").begin
    return section


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m rayhist_testkit.demo.workload", description=__doc__)
    parser.add_argument(
        "--folder", required=True, type=Path, help=f"for its files; {LEDGER} is written when all is done"
    )
    parser.add_argument("--nodes", required=True, type=int, help="how many there are, to be entered")
    parser.add_argument(
        "--sections",
        default=",".join(DEMO),
        help=f"comma-separated, of {', '.join(FULL)} (default: %(default)s)",
    )
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
