"""The `sqlite` store: an archive in one file.  `sqlite:///var/lib/archive.db`."""

import msgspec

from rayhist.hookspecs import hookimpl
from rayhist.kinds import StorageKind
from rayhist.storage import Store


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of the `sqlite` store."""

    wait_s: float = 10.0
    """Seconds to wait for another writer."""


def open_store(url: str, options: Options) -> Store:
    from rayhist_storage_sqlite.store import SqliteStore

    return SqliteStore(url, options)


@hookimpl
def rayhist_storage() -> StorageKind:
    return StorageKind(api=1, name="sqlite", options=Options, open=open_store)
