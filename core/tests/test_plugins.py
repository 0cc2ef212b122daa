"""Plugins: found by entry point, loaded when chosen, checked, and never in each other's way."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import msgspec
import pytest

from rayhist import kinds
from rayhist.cli import main
from rayhist.errors import ConfigError, PluginError
from rayhist.memory import MemoryStore
from rayhist.plugins import Plugins, options_of

Install = Callable[..., str]

GOOD = """
import msgspec
from rayhist.hookspecs import hookimpl
from rayhist.kinds import StorageKind
from rayhist.memory import MemoryStore

class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    size: int = 1

@hookimpl
def rayhist_storage():
    opened = lambda url, options: MemoryStore()
    return StorageKind(api=1, name="acme", schemes={schemes}, options=Options, open=opened)
"""


def good(**changes: str) -> str:
    text = GOOD.format(schemes=changes.pop("schemes", "()"))
    for old, new in changes.items():
        text = text.replace({"name": '"acme"', "api": "api=1", "hook": "def rayhist_storage()"}[old], new)
    return text


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install a distribution of one module on `sys.path`, as pip leaves it; returns the module's name."""
    made = []

    def installed(
        source: str,
        entries: str = "[rayhist.storage]\nacme = {module}",
        name: str = "acme",
        version: str = "1.2",
    ) -> str:
        module = f"acme_{uuid4().hex}"
        site = tmp_path / module
        info = site / f"{name}-{version}.dist-info"
        info.mkdir(parents=True)
        (site / f"{module}.py").write_text(source)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (info / "entry_points.txt").write_text(entries.format(module=module))
        monkeypatch.syspath_prepend(str(site))
        made.append(module)
        return module

    yield installed
    for module in made:
        sys.modules.pop(module, None)


def test_the_built_in_plugins_use_the_same_door() -> None:
    plugins = Plugins.discover()
    assert {"file", "memory"} <= {found.name for found in plugins.found("storage")}
    assert plugins.storage("memory").options.__struct_fields__ == ()


def test_a_plugin_is_found_without_being_imported_and_imported_when_chosen(install: Install) -> None:
    module = install(good())
    plugins = Plugins.discover()
    [found] = [found for found in plugins.found("storage") if found.name == "acme"]
    assert (found.distribution, found.version, found.target) == ("acme", "1.2", module)
    assert module not in sys.modules
    assert isinstance(plugins.storage("acme").open("acme:", None), MemoryStore)
    assert module in sys.modules
    assert plugins.storage("acme") is plugins.storage("acme")


def test_what_is_installed_is_listed_in_the_order_of_role_and_name(install: Install) -> None:
    install(good(), "[rayhist.storage]\nzzz = {module}\naaa = {module}", name="zzz")
    names = [found.name for found in Plugins.discover().found("storage")]
    assert names == sorted(names)
    assert {"aaa", "zzz"} <= set(names)


def test_a_broken_plugin_that_nobody_chose_stops_nothing(install: Install) -> None:
    install("import no_such_sdk", name="broken")
    plugins = Plugins.discover()
    assert plugins.storage("memory")
    assert plugins.storage_for("memory:").name == "memory"
    with pytest.raises(PluginError, match="no storage plugin is called 'elsewhere'") as caught:
        plugins.storage_for("elsewhere://x")
    assert "broken: acme" in (caught.value.remedy or "")


@pytest.mark.parametrize(
    "source", ["import no_such_sdk", "1 / 0", "def broken(:", "raise RuntimeError('no')"]
)
def test_a_plugin_that_cannot_be_loaded_is_named_with_distribution_and_remedy(
    install: Install, source: str
) -> None:
    install(source)
    with pytest.raises(PluginError, match=r"storage plugin 'acme' of acme 1\.2 cannot be loaded") as caught:
        Plugins.discover().storage("acme")
    assert "acme" in (caught.value.remedy or "")
    assert caught.value.__cause__ is not None


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (good(hook="def rayhist_storge()"), "hook this core does not know"),
        (good(hook="def rayhist_storage(config)"), "hook this core does not know"),
        (
            good(hook="def rayhist_storage(): 1 / 0\n\ndef other()"),
            "rayhist_storage failed: ZeroDivisionError",
        ),
        (good(hook="def rayhist_storage(): return 1\n\ndef other()"), "returned int, not StorageKind"),
        ("", "returned NoneType, not StorageKind"),
        (good(name='"acne"'), "calls itself 'acne'"),
        (good(api="api=0"), "interface 0, this core speaks 1"),
        (good(api="api=2"), "interface 2, this core speaks 1"),
    ],
)
def test_a_plugin_that_is_none_is_refused_and_leaves_the_others_alone(
    install: Install, source: str, says: str
) -> None:
    install(source)
    plugins = Plugins.discover()
    for _ in range(2):  # the second time says the same
        with pytest.raises(PluginError, match=says) as caught:
            plugins.storage("acme")
        assert "acme 1.2" in str(caught.value)
        assert caught.value.remedy
    assert plugins.storage("file")
    assert plugins.auth("none")


def test_the_older_side_is_to_be_upgraded(install: Install) -> None:
    for api, older in ((0, "acme"), (2, "rayhist")):
        install(good(api=f"api={api}"), name=f"acme{api}", entries="[rayhist.storage]\nacme = {module}")
        plugins = Plugins(
            pair
            for pairs in Plugins.discover()._entries.values()
            for pair in pairs
            if pair[0].distribution == f"acme{api}"
        )
        with pytest.raises(PluginError) as caught:
            plugins.storage("acme")
        assert f"upgrade {older}" in (caught.value.remedy or "")


def test_two_distributions_with_one_plugin_name_are_both_named(install: Install) -> None:
    install(good(), name="one", version="1.0")
    install(good(), name="two", version="2.0")
    with pytest.raises(PluginError, match=r"comes from one 1\.0 and two 2\.0") as caught:
        Plugins.discover().storage("acme")
    assert caught.value.remedy == "uninstall one of them"


def test_of_two_copies_of_a_distribution_the_imported_one_counts(install: Install) -> None:
    """Also if its name is spelt in another way."""
    install("raise RuntimeError('hidden')", name="acme_store", version="0.9")
    module = install(good(), name="Acme.Store", version="1.0")
    [found] = [found for found in Plugins.discover().found("storage") if found.name == "acme"]
    assert (found.version, found.target) == ("1.0", module)
    assert Plugins.discover().storage("acme")


def test_a_half_removed_distribution_is_no_obstacle(install: Install, tmp_path: Path) -> None:
    module = install(good())
    (tmp_path / module / "acme-1.2.dist-info" / "METADATA").unlink()
    [found] = [found for found in Plugins.discover().found("storage") if found.name == "acme"]
    assert (found.distribution, found.version) == ("?", "?")
    assert Plugins.discover().storage("acme")


def test_one_module_may_serve_two_roles(install: Install) -> None:
    both = good() + (
        "from rayhist.kinds import AuthKind\n"
        "@hookimpl\n"
        "def rayhist_auth():\n"
        "    return AuthKind(api=1, name='acme', options=Options, open=lambda options: None)\n"
    )
    install(both, "[rayhist.storage]\nacme = {module}\n[rayhist.auth]\nacme = {module}")
    plugins = Plugins.discover()
    assert isinstance(plugins.auth("acme"), kinds.AuthKind)
    assert isinstance(plugins.storage("acme"), kinds.StorageKind)


def test_groups_of_others_are_left_alone(install: Install) -> None:
    install(
        good(),
        "[rayhist.cheese]\nacme = {module}\n[rayhist]\nacme = {module}\n[other.storage]\nacme = {module}",
    )
    with pytest.raises(PluginError, match="no storage plugin"):
        Plugins.discover().storage("acme")


def test_a_url_finds_its_backend_by_name_or_by_listed_scheme(install: Install) -> None:
    install(good(schemes='("acme+tls", "ac")'))
    plugins = Plugins.discover()
    for url in ("acme://x", "ACME://x", "acme+tls://x", "ac:x"):
        assert plugins.storage_for(url).name == "acme"


def test_a_scheme_that_two_backends_list_is_ambiguous(install: Install) -> None:
    install(good(schemes='("shared",)'), name="one")
    other = good(schemes='("shared",)', name='"other"')
    install(other, "[rayhist.storage]\nother = {module}", name="two")
    with pytest.raises(
        PluginError, match=r"'acme' of one.* and .*'other' of two.*both know the scheme 'shared'"
    ):
        Plugins.discover().storage_for("shared://x")


@pytest.mark.parametrize("url", ["", "/var/lib/rayhist", "://x", "rayhist", "./a:b"])
def test_a_url_without_a_scheme_is_a_mistake_in_the_configuration(url: str) -> None:
    with pytest.raises(ConfigError, match="no scheme") as caught:
        Plugins.discover().storage_for(url)
    assert "file:///" in (caught.value.remedy or "")


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(PluginError, match="no auth plugin is called 'magic'") as caught:
        Plugins.discover().auth("magic")
    assert caught.value.remedy is not None
    assert "currently installed: none, " in caught.value.remedy
    assert "token" in caught.value.remedy
    with pytest.raises(PluginError) as caught:
        Plugins.discover().storage("gcs")
    assert "pip install rayhist-storage-gcs" in (caught.value.remedy or "")


def test_the_list_of_plugins_explains_options_and_says_what_is_broken(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    described = good().replace("size: int = 1", 'size: int = 1\n    """How large."""')
    install(described, name="whole")
    install("import no_such_sdk", "[rayhist.auth]\nbad = {module}", name="broken")
    assert main(["plugins", "-v"]) == 1
    shown = capsys.readouterr().out
    assert re.search(r"^  acme +whole 1\.2\n    size +How large\. \(default 1\)$", shown, re.MULTILINE)
    assert re.search(r"^  bad +broken 1\.2\n    BROKEN: .*no_such_sdk.*\n    remedy: ", shown, re.MULTILINE)
    assert main(["plugins"]) == 0
    assert "BROKEN" not in capsys.readouterr().out


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    size: int


def test_options_are_converted_with_the_path_of_their_table() -> None:
    kind = kinds.StorageKind(api=1, name="x", options=Options, open=lambda _url, _options: MemoryStore())
    assert options_of(kind, {"size": 3}, "$.storage.options") == Options(3)
    for given, says in (
        ({"size": "3"}, r"\$\.storage\.options\.size"),
        ({}, r"missing required field `size`.*\$\.storage\.options"),
        ({"size": 1, "sise": 1}, r"unknown field `sise`.*\$\.storage\.options"),
    ):
        with pytest.raises(ConfigError, match=says):
            options_of(kind, given, "$.storage.options")
