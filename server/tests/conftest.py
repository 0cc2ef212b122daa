"""A server over an archive in memory, and one over the recording of a real cluster."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
import structlog
from litestar import Litestar
from litestar.testing import TestClient

from rayhist import config
from rayhist.clock import Clock
from rayhist.ids import Session
from rayhist.kinds import StorageKind
from rayhist.memory import MemoryStore, Options
from rayhist.plugins import Plugins
from rayhist.storage import Store
from rayhist_server.app import build
from rayhist_server.sessions import Address
from rayhist_testkit import recordings

Client = TestClient[Litestar]
MakeApp = Callable[..., Litestar]


@pytest.fixture(scope="session", autouse=True)
def _plain_log() -> None:
    """One line per event, which pytest shows of a test that fails."""
    structlog.configure(
        processors=[structlog.processors.format_exc_info, structlog.processors.KeyValueRenderer()]
    )


class OneStore(Plugins):
    """The installed plugins, but every storage URL means the given store."""

    def __init__(self, store: Store) -> None:
        self._others = Plugins.discover()
        self._store = store

    def storage_for(self, url: str) -> StorageKind:
        return StorageKind(api=1, name="memory", options=Options, open=lambda _url, _options: self._store)

    def auth(self, name: str) -> Any:
        return self._others.auth(name)


@pytest.fixture
def make_app(tmp_path: Path) -> MakeApp:
    """`application` with a cache folder of the test's own."""
    return partial(application, tmp_path)


def application(
    folder: Path, store: Store, *, clock: Clock | None = None, only: Address | None = None, **sections: Any
) -> Litestar:
    """The server over a store; `sections` overlay the configuration."""
    return build(configuration(folder, **sections), OneStore(store), clock=clock, only=only)


def configuration(folder: Path, **sections: Any) -> config.Config:
    given = {"storage": {"url": "memory:"}, "cache": {"path": str(folder / "cache")}} | sections
    return config.convert(given, config.Config, "$")


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(uuid.uuid4().hex)


class Recorded(msgspec.Struct, frozen=True):
    """The recorded cluster, as it was while the answers were taken, behind a server."""

    client: Any
    session: Session
    store: Store
    recording: recordings.Recording

    @property
    def base(self) -> str:
        return f"/s/{self.session.path}"


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    """The recording at the moment of its live answers, with all logs, and a stopped clock."""
    store = MemoryStore("recorded")
    folder = recordings.RAY_2_60
    session = asyncio.run(recordings.lay_out(store, folder, moment=recordings.LIVE, logs=True))
    asyncio.run(store.put("frontends/2.60.0/index.html", b"<!doctype html><title>Ray Dashboard</title>"))
    recording = recordings.Recording(folder)
    app = application(tmp_path_factory.mktemp("server"), store, clock=recording.clock(recordings.LIVE))
    with TestClient(app) as client:
        yield Recorded(client, session, store, recording)
