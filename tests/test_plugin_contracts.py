"""The commands that no distribution's own tests hold against the contract keep it as well."""

from __future__ import annotations

import pytest

from rayhist_testkit.contracts import PluginContract


@pytest.mark.parametrize("name", ["demo", "serve"])
class TestCommandPlugins(PluginContract):
    role = "command"

    @pytest.fixture(autouse=True)
    def _named(self, name: str) -> None:
        self.name = name
