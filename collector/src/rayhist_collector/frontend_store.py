"""The archive's side of `rayhist frontend`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

from rayhist import ids, layout
from rayhist.config import load
from rayhist.errors import ConfigError
from rayhist.layout import FRONTENDS, FrontendFile
from rayhist.plugins import Plugins
from rayhist.storage import Store
from rayhist_collector import frontends
from rayhist_collector.opening import open_store


def show(config: str | None, plugins: Plugins) -> int:
    """Print the versions, one a line.  Raises what opening and listing the store raise."""

    async def listed() -> list[str]:
        async with open_store(load(config), plugins) as store:
            return await store.list_folders(f"{FRONTENDS}/")

    for version in asyncio.run(listed()):
        sys.stdout.write(f"{version}\n")
    return 0


def add(config: str | None, plugins: Plugins, *, version: str, wheel: str | None, folder: str | None) -> int:
    """Write a build into the archive.  Raises `ConfigError` if there is none, and what the store raises."""
    ids.version(version)
    assets = _assets(version, wheel, folder)

    async def stored() -> int:
        async with open_store(load(config), plugins) as store:
            return await _put(store, version, assets)

    count = asyncio.run(stored())
    sys.stdout.write(f"recorded the dashboard of Ray {version}: {count} files\n")
    return 0


def _assets(version: str, wheel: str | None, folder: str | None) -> Iterator[tuple[str, bytes]]:
    if wheel:
        return frontends.from_wheel(Path(wheel))
    if folder:
        return frontends.from_folder(Path(folder))
    found = frontends.installed(version)
    if found is None:
        raise ConfigError(f"Ray {version} is not installed here", remedy="give --wheel FILE or --folder DIR")
    return frontends.from_folder(found)


async def _put(store: Store, version: str, assets: Iterator[tuple[str, bytes]]) -> int:
    count = 0
    for path, data in assets:
        await store.put(layout.key(FrontendFile(version, path)), data)
        count += 1
    return count
