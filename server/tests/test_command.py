"""`rayhist serve` as a process."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rayhist.errors import ConfigError
from rayhist.ids import Cluster, ClusterKind
from rayhist.plugins import Plugins
from rayhist_server import command
from rayhist_server.sessions import Address, parse_address


def environment(folder: Path, **more: str) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("RAYHIST")}
    return inherited | {"RAYHIST__CACHE__PATH": str(folder / "cache")} | more


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server on a free port; yields it and its address."""
    given = [sys.executable, "-m", "rayhist.cli", "serve", "--port", "0"]
    given += ["--storage", (folder / "archive").as_uri(), *arguments]
    process = subprocess.Popen(
        given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(folder)
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        match = re.search(r"http://127\.0\.0\.1:\d+/", line)
        assert match, line + process.communicate()[1]
        yield process, match[0]
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_where_it_serves_and_ends_well_at_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    with serving(tmp_path) as (process, address):
        with urllib.request.urlopen(address + "api/v1/sessions") as answer:
            assert json.load(answer)["total"] == 0
        process.send_signal(number)
        _, errors = process.communicate(timeout=30)
        assert process.returncode == 0
    logged = [json.loads(line) for line in errors.splitlines()]
    assert {"event": "request", "path": "/api/v1/sessions", "status": 200}.items() <= logged[0].items()


def test_a_port_in_use_is_named_with_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAYHIST__CACHE__PATH", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"port {port}: Address already in use") as failure:
            command.run(["--port", str(port), "--storage", "memory:"], Plugins.discover())
    assert failure.value.remedy


@pytest.mark.parametrize(
    "arguments", [["--port", "70000"], ["--storage", "file://host/x"], ["--session", "raycluster/a/b"]]
)
def test_a_mistake_in_the_call_is_an_error_of_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setenv("RAYHIST__CACHE__PATH", str(tmp_path))
    with pytest.raises(ConfigError):
        command.run(["--storage", "memory:", *arguments], Plugins.discover())


def test_help_and_other_commands_do_not_load_the_web_framework(tmp_path: Path) -> None:
    program = (
        "import sys; from rayhist.cli import main\n"
        "main(['plugins'])\n"
        "import rayhist_server.command\n"
        "print(sorted({'litestar', 'uvicorn', 'jinja2', 'structlog'} & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env=environment(tmp_path),
    )
    assert result.stdout.splitlines()[-1] == "[]"


def test_an_address_on_the_command_line_names_a_session() -> None:
    assert parse_address("raycluster/ns/c/latest") == Address(
        Cluster(ClusterKind.RAYCLUSTER, "ns", "c"), "latest"
    )
    assert parse_address("/rayjob/ns/owner/c/session_x/") == Address(
        Cluster(ClusterKind.RAYJOB, "ns", "c", "owner"), "session_x"
    )
    for wrong in ("", "raycluster", "raycluster/a/b/c/d", "rayjob/a/b/c", "cron/a/b/c", "raycluster/A/b/c"):
        with pytest.raises(ConfigError):
            parse_address(wrong)
