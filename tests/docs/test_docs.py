"""The documentation says what the code does: links lead somewhere, generated pages are fresh."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from rayhist.plugins import Plugins

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("*/README.md"),
        *ROOT.glob("plugins/*/README.md"),
    ]
)
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
_METRIC = re.compile(r"\"(rayhist_[a-z_]+)\"")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    targets = [target for target in _LINK.findall(page.read_text()) if "://" not in target]

    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_generated_pages_are_fresh() -> None:
    """`make docs` would change nothing."""
    made = subprocess.run(
        [sys.executable, "tools/reference.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (made.returncode, made.stdout) == (0, "")


def test_every_command_is_in_the_documentation() -> None:
    text = "\n".join(page.read_text() for page in PAGES)
    commands = [found.name for found in Plugins.discover().found("command")]

    assert commands
    assert [name for name in commands if f"rayhist {name}" not in text] == []


def test_every_metric_is_in_the_documentation() -> None:
    text = "\n".join(page.read_text() for page in PAGES)
    sources = [*ROOT.glob("collector/src/**/*.py"), *ROOT.glob("server/src/**/*.py")]
    metrics = {name for source in sources for name in _METRIC.findall(source.read_text())}
    metrics = {name for name in metrics if name not in {"rayhist_collector", "rayhist_server"}}

    assert metrics
    assert sorted(name for name in metrics if name not in text) == []
