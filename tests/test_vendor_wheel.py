"""A vendor's plugin, built as a wheel outside the workspace, is found, opened and passes the kit.

It is the example of docs/vendors/storage.md: the blocks of that page that name a file are that file.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "vendors" / "storage.md"
_FILE = re.compile(r"^```\w+ title=\"([^\"]+)\"\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_OURS = ("PYTHON", "VIRTUAL_ENV", "PYTEST", "RAYHIST", "UV_PROJECT")

pytestmark = [pytest.mark.services, pytest.mark.timeout(600)]


class Site:
    """A fresh environment with the workspace's wheels and the vendor's, away from the workspace."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "acme"
        self.python = folder / "venv" / "bin" / "python"
        for name, text in _FILE.findall(PAGE.read_text()):
            path = self.project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def build(self) -> None:
        wheels = self.folder / "wheels"
        for source in (ROOT / "core", ROOT / "testkit", self.project):
            self.run("uv", "build", "--quiet", "--wheel", "--out-dir", wheels, source)
        self.run("uv", "venv", "--quiet", "--python", sys.executable, self.folder / "venv")
        built = sorted(wheels.glob("*.whl"))
        assert len(built) == 3
        install = ["uv", "pip", "install", "--quiet", "--python", self.python]
        self.run(*install, *built, "pytest", "pytest-asyncio")

    def run(self, *command: str | Path) -> str:
        """Run a command in the vendor's project; returns its output.  Fails with the output."""
        program = shutil.which(
            command[0], path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        )
        assert program, command[0]
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
        done = subprocess.run(
            [program, *command[1:]], cwd=self.project, env=kept, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def rayhist(self, *arguments: str) -> str:
        return self.run(self.python.parent / "rayhist", *arguments)

    def pytest(self, *arguments: str) -> str:
        return self.run(self.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    made = Site(tmp_path_factory.mktemp("vendor"))
    made.build()
    return made


def test_the_plugin_is_found_and_its_options_are_shown(site: Site) -> None:
    shown = site.rayhist("plugins", "-v")
    assert re.search(r"^  acme +rayhist-storage-acme 1\.0$", shown, re.MULTILINE)
    assert "wait_s" in shown
    assert "BROKEN" not in shown


def test_the_documented_configuration_is_checked_with_the_plugin(site: Site) -> None:
    checked = site.rayhist("config", "check", "--config", "rayhist.toml")
    assert "acme:///var/lib/rayhist/archive.db" in checked


def test_the_plugin_passes_the_kit_without_another_asyncio_plugin(site: Site) -> None:
    summary = site.pytest("-p", "no:asyncio").splitlines()[-1]
    passed = re.match(r"(\d+) passed", summary)
    assert passed, summary
    assert int(passed[1]) > 40


@pytest.mark.parametrize("mode", ["strict", "auto"])
def test_the_kit_minds_no_other_asyncio_plugin(site: Site, mode: str) -> None:
    summary = site.pytest("-o", f"asyncio_mode={mode}", "-k", "comes_back or found or replaced").splitlines()[
        -1
    ]
    assert " passed" in summary


def test_a_contract_that_is_not_kept_fails_in_the_vendors_hands_too(site: Site) -> None:
    """Assertions of the kit explain themselves there."""
    (site.project / "tests" / "test_broken.py").write_text(
        "from test_acme import TestStore as Base\n\n"
        "class TestBroken(Base):\n"
        "    def test_a_prefix_is_text(self):\n"
        "        pass\n"
    )
    try:
        with pytest.raises(AssertionError, match=r"overridden without.*test_a_prefix_is_text"):
            site.pytest("tests/test_broken.py", "-k", "replaced")
    finally:
        (site.project / "tests" / "test_broken.py").unlink()
