"""The dashboard's pages are recorded whole, whichever way, and by hand too."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

from rayhist.errors import ConfigError, DataError
from rayhist_collector import frontends
from rayhist_collector.dashboard_client import Reply

RAY = version("ray")
NEEDED = (".js", ".css", ".html", ".ico", ".svg", ".woff", ".woff2")


def _build() -> Path:
    folder = frontends.installed(RAY)
    assert folder is not None
    return folder


def _serve(folder: Path, path: str) -> Reply:
    """As Ray's dashboard: the page, the icon, and what is below `static/`."""
    name = path.lstrip("/") or "index.html"
    file = folder / name
    shown = name in {"index.html", "favicon.ico"} or name.startswith("static/")
    if shown and file.is_file():
        return Reply(200, file.read_bytes(), "text/html", 0.0)
    return Reply(404, b"404: Not Found", "text/plain", 0.0)


def test_following_the_pages_of_a_real_ray_finds_every_file_a_page_can_ask_for() -> None:
    folder = _build()
    found = dict(frontends.from_dashboard(lambda path: _serve(folder, path)))
    static = [path for path in folder.rglob("static/**/*") if path.suffix in NEEDED]
    assert {path.relative_to(folder).as_posix() for path in static} | {
        "index.html",
        "favicon.ico",
    } <= found.keys()
    assert all(found[path] == (folder / path).read_bytes() for path in found)


def test_no_source_map_is_recorded_and_the_page_comes_last() -> None:
    paths = [path for path, _ in frontends.from_folder(_build())]
    assert paths[-1] == "index.html"
    assert not [path for path in paths if path.endswith(".map")]
    assert any(path.startswith("speedscope") for path in paths)


def test_a_wheel_gives_what_the_installed_package_gives(tmp_path: Path) -> None:
    folder = _build()
    with zipfile.ZipFile(tmp_path / "ray.whl", "w") as wheel:
        for path in folder.rglob("*"):
            if path.is_file():
                wheel.write(path, f"ray/dashboard/client/build/{path.relative_to(folder).as_posix()}")
        wheel.writestr("ray/__init__.py", "")
    assert dict(frontends.from_wheel(tmp_path / "ray.whl")) == dict(frontends.from_folder(folder))


def test_what_is_no_build_is_refused_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "not.whl").write_bytes(b"PK\x03\x04 broken")
    with zipfile.ZipFile(tmp_path / "other.whl", "w") as wheel:
        wheel.writestr("other/__init__.py", "")
    for wheel_path in ("not.whl", "other.whl", "missing.whl"):
        with pytest.raises(ConfigError, match=wheel_path):
            list(frontends.from_wheel(tmp_path / wheel_path))
    with pytest.raises(ConfigError, match=r"no index\.html there"):
        list(frontends.from_folder(tmp_path))


def test_a_dashboard_without_pages_is_an_error_and_not_an_empty_build() -> None:
    """Ray without its `default` extra answers with a text."""
    with pytest.raises(DataError, match="has no page"):
        list(frontends.from_dashboard(lambda _path: Reply(200, b"Internal Error", "text/plain", 0.0)))


def test_a_page_cannot_make_the_collector_write_elsewhere() -> None:
    page = b'<script src="./static/../../../etc/passwd.js"></script><link href="//evil.example/x.css">'
    asked = []

    def get(path: str) -> Reply:
        asked.append(path)
        return Reply(200, page if path == "/" else b"", "text/html", 0.0)

    assert [path for path, _ in frontends.from_dashboard(get)] == ["index.html"]
    assert asked == ["/"]


def test_another_version_is_not_taken_for_the_installed_one() -> None:
    assert frontends.installed("1.0.0") is None


def test_a_version_is_added_and_listed_by_hand(tmp_path: Path) -> None:
    config = tmp_path / "rayhist.toml"
    config.write_text(
        f'[storage]\nurl = "{(tmp_path / "archive").as_uri()}"\noptions = {{ fsync = false }}\n'
    )

    def rayhist(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "rayhist.cli", "frontend", "--config", str(config), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    added = rayhist("add", "--version", RAY)
    assert added.returncode == 0, added.stderr
    assert rayhist("list").stdout == f"{RAY}\n"
    assert (tmp_path / "archive" / "frontends" / RAY / "index.html").is_file()
    refused = rayhist("add", "--version", "1.2.3")
    assert refused.returncode == 2
    assert "Ray 1.2.3 is not installed here" in refused.stderr
    assert "--wheel" in refused.stderr
    hostile = rayhist("add", "--version", "../..", "--folder", str(_build()))
    assert hostile.returncode != 0
    assert "not a version" in hostile.stderr
