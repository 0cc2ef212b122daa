"""One recording of the whole workload, made once for all tests that need a dead cluster.

`RAYHIST_E2E_RECORDING=<folder>` keeps it there and takes it from there the next time, so that work on a test
does not cost a recording each time.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rayhist_testkit.fidelity.moments import Ending
from rayhist_testkit.fidelity.questions import SECTIONS
from rayhist_testkit.fidelity.recording import Witnessed, reopen, witness

_KEPT = "RAYHIST_E2E_RECORDING"


@pytest.fixture(scope="session")
def witnessed(tmp_path_factory: pytest.TempPathFactory) -> Witnessed:
    """A cluster of three nodes that ran everything, told all of it, and was killed with SIGKILL."""
    kept = os.environ.get(_KEPT)
    folder = Path(kept) if kept else tmp_path_factory.mktemp("recording")
    if (folder / "asked.json").exists():
        return reopen(Ending.KILLED, folder)
    return witness(Ending.KILLED, folder, list(SECTIONS), print)
