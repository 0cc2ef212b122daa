"""Opening pages in a real browser, and noticing what goes wrong on them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright, Request, Response, expect

WITHIN_MS = 30_000
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
_EXPECTED_404 = "api/v0/platform_events"
"""Asked with HEAD on every page; 404 hides the page of platform events, as on a live cluster without them."""


def launch(playwright: Playwright) -> Browser:
    """Start the system's Chromium."""
    found = [path for name in _NAMES if (path := shutil.which(name))]
    assert found, "Chromium is missing: run tools/setup-system.sh"
    return playwright.chromium.launch(executable_path=found[0], args=_OPTIONS)


class Troubles:
    """What a page's user would call broken: errors of its scripts, and requests that fail."""

    def __init__(self, page: Page) -> None:
        self.found: list[str] = []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.found.append(f"script error: {error}"))
        page.on("requestfailed", self._failed)
        page.on("response", self._response)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not message.location["url"].endswith(_EXPECTED_404):
            self.found.append(f"console: {message.text} ({message.location['url']})")

    def _failed(self, request: Request) -> None:
        if "download=1" in request.url and request.failure == "net::ERR_ABORTED":
            return  # the page lets go of it, and the browser saves it as a file
        self.found.append(f"failed: {request.method} {request.url}: {request.failure}")

    def _response(self, response: Response) -> None:
        request = response.request
        expected = request.method == "HEAD" and request.url.endswith(_EXPECTED_404) and response.status == 404
        if response.status >= 400 and not expected:
            self.found.append(f"status {response.status}: {request.method} {request.url}")


class Visitor:
    """Visits pages, keeps a screenshot of each, and fails on troubles."""

    def __init__(self, browser: Browser, screenshots: Path) -> None:
        # One for all pages, as for a user: what was loaded once is not loaded again.
        self._context = browser.new_context(viewport={"width": 1440, "height": 1000})
        self._screenshots = screenshots
        screenshots.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def visit(self, url: str, name: str) -> Iterator[Page]:
        """The opened page; when the block ends it is photographed, and must have been without troubles."""
        page = self._context.new_page()
        page.set_default_timeout(WITHIN_MS)
        troubles = Troubles(page)
        try:
            page.goto(url)
            try:
                yield page
            finally:
                page.screenshot(path=self._screenshots / f"{name}.png", full_page=True)
            assert not troubles.found, troubles.found
        finally:
            page.close()


def shows(page: Page, *texts: str) -> None:
    """The texts appear on the page, in its visible part or below it."""
    for text in texts:
        expect(page.get_by_text(text).filter(visible=True).first).to_be_visible(timeout=WITHIN_MS)
