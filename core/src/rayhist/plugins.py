"""Finding plugins by entry point, loading only what is chosen, and checking what was loaded.

Group = role (`rayhist.storage`), entry name = the word in the configuration (`s3`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, EntryPoint, distributions
from typing import Any, TypeVar, cast

import msgspec
import pluggy

from rayhist import hookspecs, kinds
from rayhist.config import convert
from rayhist.errors import PluginError

ROLES: dict[str, type[kinds.Kind]] = {
    "storage": kinds.StorageKind,
    "source": kinds.SourceKind,
    "sink": kinds.SinkKind,
    "auth": kinds.AuthKind,
    "command": kinds.Command,
}

_KindT = TypeVar("_KindT", bound=kinds.Kind)


class Found(msgspec.Struct, frozen=True, order=True):
    """An installed plugin: role, name, distribution with version, and the object it points to."""

    role: str
    name: str
    distribution: str
    version: str
    target: str

    def __str__(self) -> str:
        return f"{self.role} plugin {self.name!r} of {self.distribution} {self.version}"


class Plugins:
    """The installed plugins; a typed face over pluggy.  Nothing is imported until it is asked for."""

    def __init__(self, entries: Iterable[tuple[Found, EntryPoint]]) -> None:
        self._manager = pluggy.PluginManager(hookspecs.PROJECT)
        self._manager.add_hookspecs(hookspecs)
        self._entries: dict[tuple[str, str], list[tuple[Found, EntryPoint]]] = {}
        for found, entry in sorted(entries, key=lambda pair: pair[0]):
            self._entries.setdefault((found.role, found.name), []).append((found, entry))
        self._loaded: dict[tuple[str, str], kinds.Kind] = {}

    @classmethod
    def discover(cls) -> Plugins:
        """Read the metadata of everything installed, once."""
        return cls(_scan(distributions()))

    def found(self, role: str) -> list[Found]:
        """What is installed for a role, by name; without loading any of it."""
        return [pairs[0][0] for (its_role, _), pairs in self._entries.items() if its_role == role]

    def storage(self, name: str) -> kinds.StorageKind:
        return self._kind("storage", name, kinds.StorageKind)

    def source(self, name: str) -> kinds.SourceKind:
        return self._kind("source", name, kinds.SourceKind)

    def sink(self, name: str) -> kinds.SinkKind:
        return self._kind("sink", name, kinds.SinkKind)

    def auth(self, name: str) -> kinds.AuthKind:
        return self._kind("auth", name, kinds.AuthKind)

    def command(self, name: str) -> kinds.Command:
        return self._kind("command", name, kinds.Command)

    def storage_for(self, url: str) -> kinds.StorageKind:
        """The backend for a URL: the one named like its scheme, else one that lists the scheme."""
        scheme, colon, _ = url.partition(":")
        if not colon or not scheme:
            raise PluginError(
                f"storage URL {url!r} has no scheme", remedy="for example file:///var/lib/rayhist"
            )
        if ("storage", scheme) in self._entries:
            return self.storage(scheme)
        for found in self.found("storage"):
            try:
                kind = self.storage(found.name)
            except PluginError:
                continue  # a broken plugin that nobody chose stops nothing
            if scheme in kind.schemes:
                return kind
        raise self._unknown("storage", scheme)

    def _kind(self, role: str, name: str, expected: type[_KindT]) -> _KindT:
        key = (role, name)
        if key not in self._loaded:
            self._loaded[key] = self._load(role, name)
        kind = self._loaded[key]
        assert isinstance(kind, expected)
        return kind

    def _load(self, role: str, name: str) -> kinds.Kind:
        pairs = self._entries.get((role, name))
        if not pairs:
            raise self._unknown(role, name)
        if len({(found.distribution, found.target) for found, _ in pairs}) > 1:
            both = " and ".join(f"{found.distribution} {found.version}" for found, _ in pairs)
            raise PluginError(f"{role} plugin {name!r} comes from {both}", remedy="uninstall one of them")
        found, entry = pairs[0]
        kind = self._call(found, self._import(found, entry))
        return _validated(found, kind)

    def _import(self, found: Found, entry: EntryPoint) -> object:
        try:
            return cast("object", entry.load())
        except Exception as error:
            raise PluginError(
                f"{found} cannot be loaded: {type(error).__name__}: {error}",
                remedy=f"reinstall or upgrade {found.distribution}, or do without the plugin",
            ) from error

    def _call(self, found: Found, plugin: object) -> object:
        if self._manager.get_name(plugin) is None:
            self._manager.register(plugin, name=f"{found.role}:{found.name}")
            try:
                self._manager.check_pending()
            except pluggy.PluginValidationError as error:
                raise PluginError(f"{found} has an unknown hook: {error}") from error
        hook = f"rayhist_{found.role}"
        others = [other for other in self._manager.get_plugins() if other is not plugin]
        try:
            return self._manager.subset_hook_caller(hook, remove_plugins=others)()
        except Exception as error:
            raise PluginError(f"{found}: its hook {hook} failed: {error}") from error

    def _unknown(self, role: str, name: str) -> PluginError:
        installed = ", ".join(found.name for found in self.found(role)) or "none"
        remedy = f"currently installed: {installed}"
        if role == "storage":
            remedy += f"; try: pip install rayhist-storage-{name}"
        return PluginError(f"no {role} plugin is called {name!r}", remedy=remedy)


def _validated(found: Found, kind: object) -> kinds.Kind:
    expected = ROLES[found.role]
    if not isinstance(kind, expected):
        raise PluginError(
            f"{found}: its hook rayhist_{found.role} returned {type(kind).__name__}, not {expected.__name__}"
        )
    if kind.name != found.name:
        raise PluginError(f"{found} calls itself {kind.name!r}; it must have its entry point's name")
    if kind.api != kinds.API:
        raise PluginError(
            f"{found} was written for interface {kind.api}, this core speaks {kinds.API}",
            remedy=f"upgrade {found.distribution if kind.api < kinds.API else 'rayhist'}",
        )
    return kind


def options_of(kind: Any, given: dict[str, Any], path: str) -> Any:
    """Convert the table at `path` of the configuration to the kind's options.

    Raises `ConfigError` that names the field's path.
    """
    return convert(given, kind.options, path)


def _scan(found: Iterable[Distribution]) -> Iterator[tuple[Found, EntryPoint]]:
    seen = set()
    for distribution in found:
        name = distribution.metadata["Name"] or "?"
        if name in seen:  # a second copy further down sys.path is not the one that is imported
            continue
        seen.add(name)
        for entry in distribution.entry_points:
            prefix, _, role = entry.group.rpartition(".")
            if prefix == hookspecs.PROJECT and role in ROLES:
                yield Found(role, entry.name, name, distribution.version, entry.value), entry


def loaded_modules() -> frozenset[str]:
    """The top-level modules imported so far; the contract tests compare them."""
    return frozenset(name.partition(".")[0] for name in sys.modules)
