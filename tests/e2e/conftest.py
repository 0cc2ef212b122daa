"""One recording of the whole workload, made once, and what is started over it.

`RAYHIST_E2E_RECORDING=<folder>` keeps it there and takes it from there the next time, so that work on a test
does not cost a recording each time.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e.facts import Facts, gather
from e2e.visit import Visitor, launch
from playwright.sync_api import Browser, sync_playwright

from rayhist_testkit.cluster import ClusterSettings
from rayhist_testkit.cluster.dashboard import Dashboard
from rayhist_testkit.cluster.server import HistoryServer
from rayhist_testkit.demo.ending import after_the_end
from rayhist_testkit.demo.record import Recording, record, reopen
from rayhist_testkit.demo.workload import FULL
from rayhist_testkit.fidelity.known import look_around
from rayhist_testkit.fidelity.question import Question
from rayhist_testkit.fidelity.questions import SECTIONS, chosen

ROOT = Path(__file__).parents[2]
_KEPT = "RAYHIST_E2E_RECORDING"


@pytest.fixture(scope="session")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """A cluster of three nodes that ran everything and was killed with SIGKILL."""
    kept = os.environ.get(_KEPT)
    folder = Path(kept) if kept else tmp_path_factory.mktemp("recording")
    settings = ClusterSettings(
        storage_url=(folder / "archive").as_uri(), namespace="research", name="nightly"
    )
    if (folder / "recording" / "ledger.json").exists():
        return reopen(settings, folder / "recording")
    return record(settings, FULL, folder / "recording", print)


@pytest.fixture(scope="session")
def server(recording: Recording, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HistoryServer]:
    """The server over the recording's archive."""
    folder = tmp_path_factory.mktemp("server")
    with HistoryServer(recording.settings.storage_url, folder) as running:
        yield running


@pytest.fixture(scope="session")
def dead(server: HistoryServer, recording: Recording) -> Dashboard:
    """The dashboard of the dead session."""
    server.until_ended(recording.session)
    return server.session(recording.session)


@pytest.fixture(scope="session")
def facts(dead: Dashboard, recording: Recording) -> Facts:
    return gather(dead, after_the_end(recording.ledger))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Of one module only: while it is open, its event loop is the thread's."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def screenshots() -> Path:
    """Where the pages' pictures are left to be looked at."""
    folder = ROOT / "out" / "screenshots"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


@pytest.fixture(scope="module")
def visitor(browser: Browser, screenshots: Path) -> Visitor:
    return Visitor(browser, screenshots)


@pytest.fixture(scope="session")
def questions(dead: Dashboard, recording: Recording) -> list[Question]:
    """A question for every route, and one for each thing that was recorded."""
    return chosen(look_around(dead, recording.ledger), tuple(SECTIONS))
