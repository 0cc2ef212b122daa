"""Finding plugins by entry point, loading only what is chosen, and checking what was loaded.

Group = role (`rayhist.storage`), entry name = the word in the configuration (`s3`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import Distribution, EntryPoint, distributions
from typing import Any, TypeVar, cast

import msgspec
import pluggy

from rayhist import hookspecs, kinds
from rayhist.config import convert
from rayhist.errors import ConfigError, PluginError

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
        """The backend for a URL: the one named like its scheme, else the one that lists the scheme.

        Raises `ConfigError` if the URL has no scheme, and `PluginError` if no backend or several know it.
        """
        scheme, colon, _ = url.partition(":")
        if not colon or not scheme or "/" in scheme:
            raise ConfigError(
                f"storage URL {url!r} has no scheme", remedy="for example file:///var/lib/rayhist"
            )
        scheme = scheme.lower()
        if ("storage", scheme) in self._entries:
            return self.storage(scheme)
        knowing, broken = self._listing(scheme)
        if len(knowing) > 1:
            raise PluginError(
                f"{url}: {' and '.join(map(str, knowing))} both know the scheme {scheme!r}",
                remedy="uninstall one of them, or begin the URL with a backend's name",
            )
        if not knowing:
            raise self._unknown("storage", scheme, broken)
        return self.storage(knowing[0].name)

    def _listing(self, scheme: str) -> tuple[list[Found], list[Found]]:
        """The backends that list a scheme, and those that cannot be asked; a broken one stops nothing."""
        knowing, broken = [], []
        for found in self.found("storage"):
            try:
                if scheme in self.storage(found.name).schemes:
                    knowing.append(found)
            except PluginError:
                broken.append(found)
        return knowing, broken

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
            self._register(found, plugin)
        hook = f"rayhist_{found.role}"
        others = [other for other in self._manager.get_plugins() if other is not plugin]
        try:
            return self._manager.subset_hook_caller(hook, remove_plugins=others)()
        except Exception as error:
            raise PluginError(
                f"{found}: its hook {hook} failed: {type(error).__name__}: {error}",
                remedy=f"report it to the authors of {found.distribution}, or do without the plugin",
            ) from error

    def _register(self, found: Found, plugin: object) -> None:
        try:
            self._manager.register(plugin, name=f"{found.role}:{found.name}")
            self._manager.check_pending()
        except (pluggy.PluginValidationError, ValueError) as error:
            if self._manager.get_name(plugin) is not None:
                self._manager.unregister(plugin)  # or it would make every later check fail
            raise PluginError(
                f"{found} has a hook this core does not know: {error}",
                remedy=f"upgrade rayhist or {found.distribution}",
            ) from error

    def _unknown(self, role: str, name: str, broken: Sequence[Found] = ()) -> PluginError:
        installed = ", ".join(found.name for found in self.found(role)) or "none"
        remedy = f"currently installed: {installed}"
        if broken:
            remedy += f" (broken: {', '.join(found.name for found in broken)}; see: rayhist plugins -v)"
        if role == "storage":
            remedy += f"; try: pip install rayhist-storage-{name}"
        return PluginError(f"no {role} plugin is called {name!r}", remedy=remedy)


def _validated(found: Found, kind: object) -> kinds.Kind:
    expected = ROLES[found.role]
    authors = f"report it to the authors of {found.distribution}"
    if not isinstance(kind, expected):
        raise PluginError(
            f"{found}: its hook rayhist_{found.role} returned {type(kind).__name__}, not {expected.__name__}",
            remedy=authors,
        )
    if kind.name != found.name:
        raise PluginError(
            f"{found} calls itself {kind.name!r}; it must have its entry point's name", remedy=authors
        )
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
        entries = [(entry, role) for entry in distribution.entry_points if (role := _role(entry))]
        if (
            not entries
        ):  # nearly all of them; parsing their metadata would cost most of a short command's time
            continue
        name = _metadata(distribution, "Name")
        normal = re.sub(r"[-_.]+", "-", name).lower()
        if normal in seen:  # a second copy further down sys.path is not the one that is imported
            continue
        seen.add(normal)
        for entry, role in entries:
            yield Found(role, entry.name, name, _metadata(distribution, "Version"), entry.value), entry


def _role(entry: EntryPoint) -> str:
    """The role an entry point is for, or nothing."""
    prefix, _, role = entry.group.rpartition(".")
    return role if prefix == hookspecs.PROJECT and role in ROLES else ""


def _metadata(distribution: Distribution, field: str) -> str:
    known = distribution.metadata
    if field not in known:  # a half-removed distribution
        return "?"
    return known[field]


def loaded_modules() -> frozenset[str]:
    """The top-level modules imported so far; the contract tests compare them."""
    return frozenset(name.partition(".")[0] for name in sys.modules)
