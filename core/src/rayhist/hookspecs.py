"""The core's hooks.  Each is synchronous and returns a typed descriptor; async begins on what it opens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from rayhist.kinds import AuthKind, Command, SinkKind, SourceKind, StorageKind

PROJECT = "rayhist"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec(firstresult=True)
def rayhist_storage() -> StorageKind | None:
    """Describe a storage backend."""


@hookspec(firstresult=True)
def rayhist_source() -> SourceKind | None:
    """Describe a source that feeds the collector."""


@hookspec(firstresult=True)
def rayhist_sink() -> SinkKind | None:
    """Describe a sink that takes the collector's sealed files."""


@hookspec(firstresult=True)
def rayhist_auth() -> AuthKind | None:
    """Describe a way to log in."""


@hookspec(firstresult=True)
def rayhist_command() -> Command | None:
    """Describe a sub-command of `rayhist`."""
