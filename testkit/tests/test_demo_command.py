"""`rayhist demo` teaches how it is called, and says what it lacks."""

from __future__ import annotations

import importlib.util

import pytest

from rayhist.cli import main
from rayhist.errors import ConfigError
from rayhist.plugins import Plugins
from rayhist_testkit.demo.command import run


def test_the_help_says_what_happens_and_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["demo", "--help"])
    told = capsys.readouterr().out
    assert ended.value.code == 0
    assert "SIGKILL" in told
    assert {"--check", "--keep", "--workers", "--port"} <= set(told.split())


def test_without_ray_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(ConfigError, match="needs ray") as caught:
        run(["--check"], Plugins.discover())
    assert caught.value.remedy == "pip install 'rayhist-testkit[demo]'"
