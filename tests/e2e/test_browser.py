"""Every page of the dashboard's own frontend opens on the dead session, with what was recorded on it."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e.facts import Facts
from e2e.pages import PAGES, PageOf
from e2e.visit import Visitor, shows

from rayhist_testkit.cluster.server import HistoryServer
from rayhist_testkit.demo.record import Recording

pytestmark = [pytest.mark.services, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def base(server: HistoryServer, recording: Recording) -> str:
    return server.session_url(recording.session)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_page_shows_what_was_recorded(page: PageOf, visitor: Visitor, base: str, facts: Facts) -> None:
    with visitor.visit(f"{base}#/{page.address(facts)}", page.name) as opened:
        shows(opened, *page.shows(facts))


def test_the_driver_page_shows_tasks_actors_and_groups(visitor: Visitor, base: str, facts: Facts) -> None:
    """The three tables of a job's page, each opened by a click."""
    ledger = facts.ledger
    with visitor.visit(f"{base}#/jobs/{ledger.driver_job}", "job-tables") as page:
        for table in ("Task Table", "Actor Table", "Placement Group Table"):
            page.get_by_text(table, exact=True).click()
        shows(page, *facts.first_tasks, *(f"x {count}" for count in ledger.task_counts.values()))
        shows(page, *(actor.id for actor in ledger.actors.values()))
        shows(page, *(group.id for group in ledger.groups.values()), "CREATED", "REMOVED", "PENDING")


def test_the_picture_of_the_readme(visitor: Visitor, base: str, facts: Facts, screenshots: Path) -> None:
    """`out/screenshots/dashboard.png`, of which the one in `docs/images` is a copy."""
    failed = facts.ledger.jobs["failed"].id
    with visitor.visit(f"{base}#/jobs/{failed}", "job-failed-again") as page:
        page.set_viewport_size({"width": 1280, "height": 1000})
        shows(page, failed, "FAILED", "Finished: 3", "ValueError: the job failed")
        page.screenshot(path=screenshots / "dashboard.png")


def test_a_nodes_logs_are_reached_by_clicks(visitor: Visitor, base: str, facts: Facts) -> None:
    """From the list of nodes down to a line of a log, although no node is alive any more."""
    with visitor.visit(f"{base}#/logs", "log-by-clicks") as page:
        page.get_by_text(f"Node ID: {facts.driver_node}").click()
        page.get_by_text(f"job-driver-{facts.ledger.jobs['succeeded'].id}.log").click()
        shows(page, "submitted: grüß dich")


def test_an_actors_output_is_shown(visitor: Visitor, base: str, facts: Facts) -> None:
    with visitor.visit(f"{base}#/actors/{facts.ledger.actors['named'].id}", "actor-output") as page:
        page.get_by_role("tab", name="STDOUT").click()
        shows(page, "counted to 1")


def test_a_failed_tasks_stack_trace_is_shown(visitor: Visitor, base: str, facts: Facts) -> None:
    task = facts.ledger.tasks["failed"].id
    with visitor.visit(f"{base}#/jobs/{facts.ledger.driver_job}/tasks/{task}", "task-error") as page:
        page.get_by_role("tab", name="Error stack trace").click()
        shows(page, "failed on purpose")


def test_the_task_timeline_is_downloaded(visitor: Visitor, base: str, facts: Facts) -> None:
    with visitor.visit(f"{base}#/jobs/{facts.ledger.driver_job}", "job-timeline") as page:
        with page.expect_download() as download:
            page.get_by_text("Download Trace File").click()
        text = download.value.path().read_text()
        assert "succeed_at_third" in text


def test_platform_events_and_metrics_are_not_offered(visitor: Visitor, base: str) -> None:
    """What a dead session cannot have is not in its menu."""
    with visitor.visit(f"{base}#/overview", "menu") as page:
        shows(page, "Recent jobs")
        assert page.get_by_text("Platform Events").count() == 0
        assert page.get_by_role("link", name="Metrics").count() == 0


def test_an_address_without_its_last_slash_leads_to_the_page(
    visitor: Visitor, base: str, facts: Facts
) -> None:
    with visitor.visit(base.rstrip("/"), "no-slash") as page:
        shows(page, "Recent jobs", facts.ledger.jobs["running"].id)
        assert page.url.startswith(base)


def test_the_sessions_page_leads_to_the_dashboard(
    visitor: Visitor, server: HistoryServer, recording: Recording, screenshots: Path
) -> None:
    """The list shows cluster, namespace and jobs, can be searched, and links to the session's dashboard."""
    with visitor.visit(server.url, "sessions-followed") as page:
        shows(page, "nightly", "research")
        page.screenshot(path=screenshots / "sessions.png")
        page.locator(f"a[href*='{recording.session.name}']").first.click()
        shows(page, "Recent jobs")
