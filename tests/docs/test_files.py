"""The files that pages lead to can be used as they are: configurations, policies, rules."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from rayhist import config
from rayhist.commands.config import check
from rayhist.plugins import Plugins

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "operators" / "clouds"
FILES = sorted(path for path in FOLDER.iterdir() if path.suffix != ".md")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_is_what_it_seems_and_its_page_leads_to_it(path: Path) -> None:
    if path.suffix == ".toml":
        check(config.load(str(path), {}), Plugins.discover())
    elif path.suffix == ".json":
        assert json.loads(path.read_text())
    else:
        assert ET.parse(path).getroot().tag
    pages = "".join(page.read_text() for page in FOLDER.glob("*.md"))
    assert f"]({path.name})" in pages


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("examples/*/rayhist.toml")), ids=lambda path: path.parent.name
)
def test_an_examples_configuration_is_checked_with_its_plugin(path: Path) -> None:
    check(config.load(str(path), {}), Plugins.discover())
