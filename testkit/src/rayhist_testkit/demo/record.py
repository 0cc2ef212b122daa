"""Recording the workload: start, run, wait until all of it is in the archive, and lose the cluster."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rayhist.errors import RayhistError
from rayhist.ids import Session
from rayhist_testkit.cluster import ClusterSettings, RayCluster
from rayhist_testkit.cluster.waiting import until
from rayhist_testkit.demo import check, ledger, shipped
from rayhist_testkit.demo.ledger import Ledger
from rayhist_testkit.demo.workload import LEDGER

_WORKLOAD_WITHIN_S = 600
_SETTLED_WITHIN_S = 120
_SHIPPED_WITHIN_S = 120

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Recording:
    """What is left of a cluster: its archive and session, and the ledger of what it had made."""

    settings: ClusterSettings
    session: Session
    ledger: Ledger


def record(settings: ClusterSettings, sections: Sequence[str], folder: Path, say: Say) -> Recording:
    """Record the workload's `sections`, then SIGKILL everything.

    `folder` gets the ledger, and the output of workload, Ray and collectors.  Raises `RayhistError`.
    """
    with running(settings, sections, folder, say) as (cluster, made):
        say("waiting until the archive has it all")
        until_shipped(cluster, made)
        say(f"killing {cluster.kill_without_warning()} processes with SIGKILL, the collectors' too")
    return Recording(settings, shipped.newest_session(settings), made)


@contextmanager
def running(
    settings: ClusterSettings, sections: Sequence[str], folder: Path, say: Say
) -> Iterator[tuple[RayCluster, Ledger]]:
    """A cluster that has run the workload's `sections` and shows all of it, and what the workload made.

    `folder` gets the same as from `record`.  Raises `RayhistError`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with RayCluster(settings, say) as cluster:
        try:
            made = _run(cluster, sections, folder, say)
            _until_settled(cluster, made)
            yield cluster, made
        finally:
            _keep_output(cluster, folder)


def reopen(settings: ClusterSettings, folder: Path) -> Recording:
    """A recording that was made earlier with these settings and this folder."""
    return Recording(settings, shipped.newest_session(settings), ledger.read(folder / LEDGER))


def _run(cluster: RayCluster, sections: Sequence[str], folder: Path, say: Say) -> Ledger:
    """Run the workload until its ledger is complete; it then holds what is to be pending or running."""
    say(f"running the workload: {', '.join(sections)}")
    command: list[str | Path] = [
        *("python", "-m", "rayhist_testkit.demo.workload"),
        *("--folder", folder, "--nodes", str(len(cluster.nodes)), "--sections", ",".join(sections)),
    ]
    output = folder / "workload.log"
    driver = cluster.run(command, output)
    until(
        lambda: _is_written(folder / LEDGER, driver, output),
        "the workload is done",
        within_s=_WORKLOAD_WITHIN_S,
        remedy=f"see {output}",
    )
    return ledger.read(folder / LEDGER)


def _is_written(path: Path, driver: subprocess.Popen[bytes], output: Path) -> bool:
    if driver.poll() is not None:
        told = output.read_text(encoding="utf-8", errors="replace")[-3000:]
        raise RayhistError(f"the workload failed:\n{told}")
    return path.exists()


def _until_settled(cluster: RayCluster, made: Ledger) -> None:
    """Wait until Ray's own dashboard says what the ledger says."""
    last: list[str] = []

    def settled() -> bool:
        last[:] = check.mismatches(cluster.dashboard, made)
        return not last

    try:
        until(settled, "the live dashboard agrees with the ledger", within_s=_SETTLED_WITHIN_S, every_s=1)
    except RayhistError as error:
        raise RayhistError("\n".join([str(error), *last])) from error


def until_shipped(cluster: RayCluster, made: Ledger) -> None:
    """Wait until the archive has all that is in the logs of the running nodes, and all of the ledger."""
    sizes = cluster.log_sizes()
    last: list[str] = []

    def arrived() -> bool:
        last[:] = shipped.still_missing(cluster.settings, made, sizes)
        return not last

    try:
        until(arrived, "the archive has everything", within_s=_SHIPPED_WITHIN_S, every_s=1)
    except RayhistError as error:
        raise RayhistError("\n".join([str(error), *last[:20]]), remedy="see the collectors' logs") from error


def _keep_output(cluster: RayCluster, folder: Path) -> None:
    for log in sorted(cluster.root.glob("n*/*.log")):
        shutil.copy(log, folder / f"{log.parent.name}-{log.name}")
