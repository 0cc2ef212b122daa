"""`rayhist plugins new` writes a distribution, and over nothing."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest

from rayhist.cli import main

Output = pytest.CaptureFixture[str]


def test_a_skeleton_is_a_distribution_with_the_kit_in_its_tests(tmp_path: Path, capsys: Output) -> None:
    assert main(["plugins", "new", "storage", "acme-cloud", "--into", str(tmp_path)]) == 0
    project = tmp_path / "rayhist-storage-acme-cloud"
    assert str(project) in capsys.readouterr().out
    described = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    assert described["entry-points"]["rayhist.storage"] == {"acme-cloud": "rayhist_storage_acme_cloud"}
    for path in project.rglob("*.py"):
        ast.parse(path.read_text())
    assert "StorageContract" in (project / "tests" / "test_acme_cloud.py").read_text()
    assert not [path for path in project.rglob("*.*") if "$" in path.read_text()]


@pytest.mark.parametrize("name", ["", "Acme", "../acme", "acme_cloud", "-acme", "a" * 41, "acme--x", "1a"])
def test_what_cannot_name_a_plugin_is_refused(name: str, tmp_path: Path, capsys: Output) -> None:
    assert main(["plugins", "new", "storage", "--into", str(tmp_path), "--", name]) == 2
    assert "remedy" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_stays(tmp_path: Path, capsys: Output) -> None:
    (tmp_path / "rayhist-storage-acme").mkdir()
    assert main(["plugins", "new", "storage", "acme", "--into", str(tmp_path)]) == 2
    assert "there already" in capsys.readouterr().err
    assert list((tmp_path / "rayhist-storage-acme").iterdir()) == []


def test_the_name_of_an_installed_plugin_is_refused(tmp_path: Path, capsys: Output) -> None:
    assert main(["plugins", "new", "storage", "file", "--into", str(tmp_path)]) == 2
    assert "of rayhist" in capsys.readouterr().err


def test_the_list_is_still_there(capsys: Output) -> None:
    assert main(["plugins"]) == 0
    assert "storage\n" in capsys.readouterr().out
