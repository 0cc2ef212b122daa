"""The built-in plugins keep the contracts that every plugin has to keep."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import ClassVar

import pytest

from rayhist.local import LocalStore, Options
from rayhist.memory import MemoryStore
from rayhist.storage import Prefixed, Store
from rayhist_testkit.contracts import AuthContract, PluginContract, StorageContract


class TestFilePlugin(PluginContract):
    role, name = "storage", "file"


class TestMemoryPlugin(PluginContract):
    role, name = "storage", "memory"


class TestNonePlugin(PluginContract):
    role, name = "auth", "none"


class TestTokenPlugin(PluginContract):
    role, name = "auth", "token"


@pytest.mark.parametrize("name", ["config", "doctor", "layout", "plugins", "sessions"])
class TestCommandPlugins(PluginContract):
    role = "command"

    @pytest.fixture(autouse=True)
    def _named(self, name: str) -> None:
        self.name = name


class TestFile(StorageContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.root = tmp_path / "archive"

    @asynccontextmanager
    async def open_store(self) -> AsyncIterator[Store]:
        yield LocalStore(self.root, Options(fsync=False))


class TestMemory(StorageContract):
    @asynccontextmanager
    async def open_store(self) -> AsyncIterator[Store]:
        yield MemoryStore()


class TestPrefixed(StorageContract):
    @asynccontextmanager
    async def open_store(self) -> AsyncIterator[Store]:
        """Beside another root in the same store, whose objects must never show."""
        bucket = MemoryStore()
        await asyncio.gather(*(bucket.put(key, b"another root's") for key in ("a/b", "z", "roots/oneself/a")))
        yield Prefixed(bucket, "roots/one")


class TestNone(AuthContract):
    name = "none"
    anonymous = True
    good_headers: ClassVar = [{}, {"authorization": "Bearer whatever"}]


class TestToken(AuthContract):
    name = "token"
    options: ClassVar = {"tokens": {"alice": {"env": "ALICE"}, "bob": {"env": "BOB"}}}
    good_headers: ClassVar = [
        {"authorization": "Bearer alice-0123456789abcdef"},
        {"x-ray-authorization": "bearer bob-0123456789abcdef"},
        {"cookie": "other=1; ray-authentication-token=alice-0123456789abcdef"},
    ]
    bad_headers: ClassVar = [
        {"authorization": "Bearer alice-0123456789abcde"},
        {"cookie": "ray-authentication-token=wrong"},
    ]

    @pytest.fixture(autouse=True)
    def _tokens(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ALICE", "alice-0123456789abcdef")
        monkeypatch.setenv("BOB", "bob-0123456789abcdef")
