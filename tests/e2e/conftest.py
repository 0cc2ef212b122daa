"""What is started over the recording of the whole workload."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e.facts import Facts, gather
from e2e.visit import Visitor, launch
from playwright.sync_api import Browser, sync_playwright

from rayhist_testkit.cluster.dashboard import Dashboard
from rayhist_testkit.cluster.server import HistoryServer
from rayhist_testkit.demo.ending import after_the_end
from rayhist_testkit.demo.record import Recording
from rayhist_testkit.fidelity.known import look_around
from rayhist_testkit.fidelity.question import Question
from rayhist_testkit.fidelity.questions import SECTIONS, chosen
from rayhist_testkit.fidelity.recording import Witnessed

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def recording(witnessed: Witnessed) -> Recording:
    """A cluster of three nodes that ran everything and was killed with SIGKILL."""
    return witnessed.recording


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
