"""Skeletons of plugins: what `rayhist plugins new` writes."""

from __future__ import annotations

import re
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from string import Template

from rayhist.errors import ConfigError

ROLES = ("storage",)
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*\Z")
_FILES = {
    "pyproject.toml": "pyproject.toml.txt",
    "README.md": "README.md.txt",
    "src/{module}/__init__.py": "init.py.txt",
    "src/{module}/store.py": "store.py.txt",
    "src/{module}/py.typed": "",
    "tests/test_{word}.py": "tests.py.txt",
}


def write(role: str, name: str, folder: Path) -> Path:
    """Write a skeleton of a plugin into `folder/rayhist-ROLE-NAME`; returns that folder.

    Raises `ConfigError` if the name cannot be one, or if something is there already.
    """
    if not _NAME.match(name) or len(name) > 40:
        raise ConfigError(
            f"{name!r} cannot name a plugin", remedy="letters a-z, digits and single dashes, such as acme"
        )
    project = folder / f"rayhist-{role}-{name}"
    word = name.replace("-", "_")
    values = {
        "name": name,
        "word": word,
        "module": f"rayhist_{role}_{word}",
        "distribution": project.name,
        "title": "".join(part.capitalize() for part in name.split("-")),
        "core": version("rayhist"),
    }
    files = {place.format_map(values): _text(role, source, values) for place, source in _FILES.items()}
    try:
        project.mkdir(parents=True)
        for place, text in files.items():
            path = project / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except FileExistsError as error:
        raise ConfigError(
            f"{project} is there already", remedy="choose another --into, or move it"
        ) from error
    except OSError as error:
        raise ConfigError(f"{project}: {error.strerror}", remedy="choose another --into") from error
    return project


def _text(role: str, source: str, values: dict[str, str]) -> str:
    if not source:
        return ""
    template = resources.files(__name__).joinpath(role, source).read_text(encoding="utf-8")
    return Template(template).substitute(values)
