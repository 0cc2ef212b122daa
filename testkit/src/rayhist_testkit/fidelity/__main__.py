"""`python -m rayhist_testkit.fidelity`: record, end, replay, compare."""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from rayhist.errors import RayhistError
from rayhist_testkit.demo.progress import Progress
from rayhist_testkit.fidelity import report
from rayhist_testkit.fidelity.judging import unused
from rayhist_testkit.fidelity.moments import Ending
from rayhist_testkit.fidelity.questions import SECTIONS
from rayhist_testkit.fidelity.run import Run
from rayhist_testkit.fidelity.table import load

_DESCRIPTION = """\
Start a real Ray of three nodes with collectors, run the whole workload, and ask the live dashboard every
question that this package knows.  End the cluster, replay it, ask the replay the same, and compare: status,
headers, and every value.  What may differ stands in allowed.toml, each entry with its reason.  Exit status 1
if anything else differs, or if an entry allows nothing any more."""


def main(argv: Sequence[str] | None = None) -> int:
    chosen = _parser().parse_args(argv)
    signal.signal(signal.SIGTERM, _interrupt)  # so that nothing started here outlives a plain kill
    sections = chosen.sections.split(",") if chosen.sections else list(SECTIONS)
    run = Run(load(), sections, Progress().step)
    try:
        with _folder(chosen.again or chosen.keep) as folder:
            for ending in chosen.ending or Ending:
                run.compare(Ending(ending), folder / ending, again=chosen.again is not None)
    except RayhistError as error:
        sys.stderr.write(f"fidelity: {error}\n" + (f"  {error.remedy}\n" if error.remedy else ""))
        return 2
    idle = unused(run.table, run.judgement, run.compared) if sections == list(SECTIONS) else []
    for line in report.lines(run.judgement, run.table, idle):
        sys.stdout.write(line + "\n")
    return 1 if run.judgement.unexplained or idle else 0


@contextlib.contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        yield keep.absolute()
        return
    with tempfile.TemporaryDirectory(prefix="rayhist-fidelity-") as folder:
        yield Path(folder)


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m rayhist_testkit.fidelity",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--ending",
        action="append",
        default=[],
        choices=[ending.value for ending in Ending],
        help="only this one; may be given several times (default: all)",
    )
    parser.add_argument(
        "--sections",
        metavar="NAMES",
        help=f"only these questions, comma-separated, of {', '.join(SECTIONS)} (default: all)",
    )
    kept = parser.add_mutually_exclusive_group()
    kept.add_argument("--keep", metavar="FOLDER", type=Path, help="keep archives and answers there")
    kept.add_argument(
        "--again",
        metavar="FOLDER",
        type=Path,
        help="compare what an earlier run kept there with what the replay answers now",
    )
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
