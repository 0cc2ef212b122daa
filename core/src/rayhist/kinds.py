"""What plugins hand over: small typed descriptors.

`api` has no default, so that the number is the one the plugin was written for.  `open` imports the SDK;
nothing before it does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from rayhist.auth import Authenticator
    from rayhist.plugins import Plugins
    from rayhist.sink import Sink, SinkContext
    from rayhist.source import Source, SourceContext
    from rayhist.storage import Store

API = 1
"""The interface generation this core speaks.  New methods come with defaults, so it rarely moves."""


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """`name` equals the entry point's name."""

    api: int
    name: str


class StorageKind(Kind, frozen=True, kw_only=True):
    """A storage backend: `open(url, options)` returns a store for that URL."""

    options: type[msgspec.Struct]
    open: Callable[[str, Any], Store]
    schemes: tuple[str, ...] = ()
    """URL schemes besides the name that mean this backend."""


class SourceKind(Kind, frozen=True, kw_only=True):
    """A source: `open(context, options)` returns it, not yet running."""

    options: type[msgspec.Struct]
    open: Callable[[SourceContext, Any], Source]
    roles: tuple[str, ...] = ("head", "worker")
    """Beside which nodes it runs."""


class SinkKind(Kind, frozen=True, kw_only=True):
    """A sink: `open(context, options)` returns it."""

    options: type[msgspec.Struct]
    open: Callable[[SinkContext, Any], Sink]


class AuthKind(Kind, frozen=True, kw_only=True):
    """A way to log in: `open(options)` returns the authenticator."""

    options: type[msgspec.Struct]
    open: Callable[[Any], Authenticator]


class Command(Kind, frozen=True, kw_only=True):
    """A sub-command of `rayhist`: `run(argv, plugins)` returns the exit status."""

    summary: str
    run: Callable[[Sequence[str], Plugins], int]
