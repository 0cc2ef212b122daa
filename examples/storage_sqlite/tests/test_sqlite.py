from pathlib import Path

import pytest

from rayhist.storage import Store
from rayhist_storage_sqlite import Options, open_store
from rayhist_testkit.contracts import PluginContract, StorageContract


class TestPlugin(PluginContract):
    role, name = "storage", "sqlite"


class TestStore(StorageContract):
    @pytest.fixture(autouse=True)
    def _file(self, tmp_path: Path) -> None:
        self.url = f"sqlite://{tmp_path}/archive.db"

    def open_store(self) -> Store:
        """An empty store; every store is an async context manager."""
        return open_store(self.url, Options())

    def open_unreachable_store(self) -> Store:
        return open_store("sqlite:///no/such/folder/archive.db", Options())
