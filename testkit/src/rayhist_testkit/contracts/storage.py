"""What a storage backend has to keep to."""

from __future__ import annotations

from rayhist_testkit.contracts.store_failures import Failures
from rayhist_testkit.contracts.store_keys import Keys
from rayhist_testkit.contracts.store_listing import Listing
from rayhist_testkit.contracts.store_reads import Reads
from rayhist_testkit.contracts.store_writes import Writes


class StorageContract(Reads, Writes, Listing, Keys, Failures):
    """Override `open_store`; and where it is possible, `open_denied_store` and its like.

    Basic tests run on every store; those of an ability are skipped where `store.abilities` lacks it.
    """
