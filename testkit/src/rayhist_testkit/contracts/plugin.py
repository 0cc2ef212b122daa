"""What every plugin has to keep to, whatever its role."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Collection
from typing import ClassVar

import msgspec
import pytest

from rayhist import describe, kinds
from rayhist.errors import ConfigError
from rayhist.plugins import Found, Plugins, options_of
from rayhist_testkit.contracts.base import Contract

_LIGHT = sys.stdlib_module_names | {"msgspec", "pluggy", "rayhist"}
_LOAD = """
import json, sys
from rayhist.plugins import Plugins, loaded_modules
role, name = sys.argv[1:]
plugins = Plugins.discover()
before = loaded_modules()
getattr(plugins, role)(name)
print(json.dumps(sorted(loaded_modules() - before)))
"""


class PluginContract(Contract):
    """Say which plugin: `role, name = "storage", "acme"`."""

    role: ClassVar[str]
    """`storage`, `source`, `sink`, `auth` or `command`."""
    name: ClassVar[str]
    """The entry point's name: the word in the configuration."""
    light_modules: ClassVar[Collection[str]] = ()
    """Top-level modules that loading the plugin may import besides its own: small ones, never an SDK."""

    def kind(self) -> kinds.Kind:
        """The plugin's descriptor, loaded as the program loads it."""
        loaded: kinds.Kind = getattr(Plugins.discover(), self.role)(self.name)
        return loaded

    def found(self) -> Found:
        matching = [found for found in Plugins.discover().found(self.role) if found.name == self.name]
        assert matching, f"no entry point {self.name!r} in the group 'rayhist.{self.role}' is installed"
        return matching[0]

    def options(self) -> type[msgspec.Struct]:
        options: type[msgspec.Struct] | None = getattr(self.kind(), "options", None)
        if options is None:
            pytest.skip(f"a {self.role} plugin has no options")
        return options

    def test_is_found_by_its_role_and_name(self) -> None:
        assert self.found().role == self.role

    def test_descriptor_says_what_the_entry_point_says(self) -> None:
        assert (self.kind().name, self.kind().api) == (self.name, kinds.API)

    def test_schemes_can_begin_a_url(self) -> None:
        for scheme in getattr(self.kind(), "schemes", ()):
            assert scheme.replace("+", "").replace("-", "").replace(".", "").isalnum()
            assert scheme == scheme.lower()

    def test_options_are_frozen(self) -> None:
        assert self.options().__struct_config__.frozen

    def test_an_unknown_option_is_refused_with_its_path(self) -> None:
        self.options()
        with pytest.raises(ConfigError, match=r"`no-such-option`.*\$\.options"):
            options_of(self.kind(), {"no-such-option": 1}, "$.options")

    def test_every_option_is_described(self) -> None:
        """Each field of the options struct has a text below it, which the documentation shows."""
        silent = [field.name for field in describe.fields(self.options()) if not field.text]
        assert not silent, f"no text below: {', '.join(silent)}"

    def test_loading_imports_no_sdk(self) -> None:
        """Whoever does not choose the plugin must not pay for it; its `open` is the place to import."""
        own = self.found().target.partition(":")[0].partition(".")[0]
        loaded = subprocess.run(  # noqa: S603 - this interpreter, with constants
            [sys.executable, "-c", _LOAD, self.role, self.name], capture_output=True, text=True, check=False
        )
        assert loaded.returncode == 0, loaded.stderr
        heavy = set(json.loads(loaded.stdout)) - _LIGHT - {own, *self.light_modules}
        assert not heavy, f"loading the plugin imports {', '.join(sorted(heavy))}"
