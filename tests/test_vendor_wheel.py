"""Vendors' plugins, built as wheels outside the workspace, are found, opened and pass the kit.

The skeleton that `rayhist plugins new` writes, and the examples of docs/vendors: with the core of this
workspace, and with the oldest that a plugin's own metadata allows while a newer one is there.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from email import message_from_bytes
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted(path.parent for path in ROOT.glob("examples/*/pyproject.toml"))
CORE = version("rayhist")
NEWER = f"{CORE}.99"
_OURS = ("PYTHON", "VIRTUAL_ENV", "PYTEST", "RAYHIST", "UV_PROJECT")
_LOWEST = re.compile(r"(rayhist(?:-testkit)?)>=([0-9.]+)\Z")
_VERSION = re.compile(rf"^(version = \"|dependencies = .*\"rayhist==){re.escape(CORE)}\"", re.MULTILINE)

pytestmark = [pytest.mark.services, pytest.mark.timeout(600)]


class Site:
    """A folder away from the workspace with built wheels, an environment, and the vendor's project."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.wheels = folder / "wheels"
        self.python = folder / "venv" / "bin" / "python"
        self.run(sys.executable, "-m", "rayhist.cli", "plugins", "new", "storage", "acme", "--into", folder)
        self.project = folder / "rayhist-storage-acme"
        for source in (ROOT / "core", ROOT / "testkit", self.project, *EXAMPLES):
            self.build(source)
        for example in EXAMPLES:  # away from the workspace's own conftest
            shutil.copytree(example / "tests", self.tests(example.name))

    def tests(self, name: str) -> Path:
        """The tests of an example, or of the skeleton."""
        return self.project / "tests" if name == "storage_acme" else self.folder / "tests" / name

    def build(self, source: Path) -> None:
        self.run("uv", "build", "--quiet", "--wheel", "--out-dir", self.wheels, source)

    def install(self, *what: str) -> None:
        """Into a fresh environment, these and pytest; the wheels that were built here come first."""
        self.run("uv", "venv", "--quiet", "--clear", "--python", sys.executable, self.folder / "venv")
        here = ["uv", "pip", "install", "--quiet", "--python", str(self.python)]
        self.run(*here, "--find-links", self.wheels, *what, "pytest", "pytest-asyncio")

    def run(self, *command: str | Path) -> str:
        """Run a command in the folder; returns its output.  Fails with the output."""
        program = shutil.which(
            command[0], path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        )
        assert program, command[0]
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
        done = subprocess.run(
            [program, *command[1:]], cwd=self.folder, env=kept, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def rayhist(self, *arguments: str | Path) -> str:
        return self.run(self.python.parent / "rayhist", *arguments)

    def pytest(self, *arguments: str | Path) -> str:
        """The last line of a test run in the vendor's project."""
        command = [self.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", self.project]
        return self.run(*command, *arguments).splitlines()[-1]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return Site(tmp_path_factory.mktemp("vendor"))


@pytest.fixture
def site(built: Site) -> Site:
    """With the skeleton and the examples beside the core and the kit of this workspace."""
    if not built.python.exists() or built.rayhist("--version").split()[1] != CORE:
        built.install(*(str(wheel) for wheel in built.wheels.glob("*.whl") if NEWER not in wheel.name))
    return built


def test_the_plugins_are_found_and_their_options_are_shown(site: Site) -> None:
    shown = site.rayhist("plugins", "-v")
    assert re.search(r"^  acme +rayhist-storage-acme 0\.1$", shown, re.MULTILINE)
    for name in ("sqlite", "webhook", "proxy", "host-load"):
        assert re.search(rf"^  {name} +rayhist-[a-z-]+ 1\.0$", shown, re.MULTILINE)
    assert "timeout_s" in shown
    assert "BROKEN" not in shown


def test_the_doctor_examines_a_vendors_store(site: Site, tmp_path: Path) -> None:
    file = tmp_path / "rayhist.toml"
    file.write_text(f'[storage]\nurl = "sqlite://{tmp_path}/archive.db"\n')
    shown = site.rayhist("doctor", "--as", "collector", "--size", "1", "--config", file)
    assert "storage plugin 'sqlite' of rayhist-storage-sqlite" in shown
    assert "the scratch object is gone" in shown


def test_the_skeleton_passes_the_kit_without_another_asyncio_plugin(site: Site) -> None:
    summary = site.pytest("-p", "no:asyncio", site.project / "tests")
    passed = re.match(r"(\d+) passed", summary)
    assert passed, summary
    assert int(passed[1]) > 40


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_passes_its_tests_as_a_wheel(site: Site, example: Path) -> None:
    assert re.match(r"\d+ passed", site.pytest("-p", "no:asyncio", site.tests(example.name)))


@pytest.mark.parametrize("mode", ["strict", "auto"])
def test_the_kit_minds_no_other_asyncio_plugin(site: Site, mode: str) -> None:
    chosen = ["-o", f"asyncio_mode={mode}", "-k", "comes_back or found or replaced"]
    assert " passed" in site.pytest(*chosen, site.project / "tests")


def test_a_contract_that_is_not_kept_fails_in_the_vendors_hands_too(site: Site) -> None:
    """Assertions of the kit explain themselves there."""
    broken = site.project / "tests" / "test_broken.py"
    broken.write_text(
        "from test_acme import TestStore as Base\n\n"
        "class TestBroken(Base):\n"
        "    def test_a_prefix_is_text(self):\n"
        "        pass\n"
    )
    try:
        with pytest.raises(AssertionError, match=r"overridden without.*test_a_prefix_is_text"):
            site.pytest(broken, "-k", "replaced")
    finally:
        broken.unlink()


@pytest.fixture(scope="module")
def with_newer(built: Site, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """A later core and kit are there as well."""
    for folder in ("core", "testkit"):
        built.build(_newer(folder, tmp_path_factory.mktemp("newer")))
    return built


@pytest.mark.parametrize("name", ["storage_acme", *(example.name for example in EXAMPLES)])
def test_a_plugin_passes_the_kit_with_the_oldest_core_it_allows(with_newer: Site, name: str) -> None:
    [wheel] = with_newer.wheels.glob(f"rayhist_{name}-*.whl")
    lowest = _lowest(wheel)["rayhist"]
    with_newer.install(str(wheel), f"rayhist=={lowest}", f"rayhist-testkit=={lowest}")
    assert with_newer.rayhist("--version").split()[1].startswith(lowest)
    assert " passed" in with_newer.pytest("-m", "not rayhist_slow", with_newer.tests(name))


def test_a_plugin_runs_on_a_newer_core(with_newer: Site) -> None:
    """It is what a plugin gets that has no upper bound."""
    [wheel] = with_newer.wheels.glob("rayhist_storage_acme-*.whl")
    with_newer.install(str(wheel), "rayhist-testkit")
    assert with_newer.rayhist("--version").split()[1] == NEWER
    assert " passed" in with_newer.pytest("-m", "not rayhist_slow", with_newer.project / "tests")


def _lowest(wheel: Path) -> dict[str, str]:
    """The lower bounds on this project's distributions that a wheel's metadata has."""
    with zipfile.ZipFile(wheel) as opened:
        [place] = [entry for entry in opened.namelist() if entry.endswith(".dist-info/METADATA")]
        required = message_from_bytes(opened.read(place)).get_all("Requires-Dist") or []
    return {match[1]: match[2] for text in required if (match := _LOWEST.match(text))}


def _newer(folder: str, into: Path) -> Path:
    """A copy of a distribution of this workspace as a later version of itself."""
    copy = into / folder
    shutil.copytree(ROOT / folder, copy, ignore=shutil.ignore_patterns("tests", "__pycache__"))
    project = copy / "pyproject.toml"
    changed, count = _VERSION.subn(rf'\g<1>{NEWER}"', project.read_text())
    assert count >= 1
    project.write_text(changed)
    return copy
