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
_COLLECTOR_METRIC = re.compile(r"(?:\b(?:counter|gauge)\(\s*\"|\"rayhist_collector_)([a-z_]+)\"")
_SERVER_METRIC = re.compile(r"\"(rayhist_server_[a-z_]+)\"")


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
    names = {f"rayhist_collector_{name}" for name in _made(_COLLECTOR_METRIC, "collector")}
    names |= _made(_SERVER_METRIC, "server")

    assert len(names) > 15
    assert sorted(name for name in names if name not in text) == []


def _made(pattern: re.Pattern[str], folder: str) -> set[str]:
    sources = ROOT.glob(f"{folder}/src/**/*.py")
    return {name for source in sources for name in pattern.findall(source.read_text())}
