"""The contracts that a plugin's tests inherit.

    class TestPlugin(PluginContract):
        role, name = "storage", "acme"

    class TestStore(StorageContract):
        def open_store(self):            # an async context manager around an empty store
            return temporary_bucket()

The kit runs its coroutines itself, so it needs no pytest plugin for them and minds none.
"""

from rayhist_testkit.contracts.auth import AuthContract
from rayhist_testkit.contracts.plugin import PluginContract
from rayhist_testkit.contracts.sink import SinkContract
from rayhist_testkit.contracts.source import SourceContract
from rayhist_testkit.contracts.storage import StorageContract
from rayhist_testkit.contracts.store_faults import FaultContract

__all__ = [
    "AuthContract",
    "FaultContract",
    "PluginContract",
    "SinkContract",
    "SourceContract",
    "StorageContract",
]
