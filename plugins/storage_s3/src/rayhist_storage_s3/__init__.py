"""The `s3` store: Amazon S3 and what speaks its protocol.  `s3://bucket/prefix`."""

from __future__ import annotations

from rayhist.hookspecs import hookimpl
from rayhist.kinds import StorageKind
from rayhist.storage import Store
from rayhist_storage_s3.options import Options


def open_store(url: str, options: Options) -> Store:
    """Open `s3://bucket` or `s3://bucket/prefix`; nothing is asked of the server yet.

    Raises `ConfigError` for a URL, an option or a set of credentials that cannot work.
    """
    from rayhist_storage_s3.opening import opened  # noqa: PLC0415 - the SDK is for those who chose it

    return opened(url, options)


@hookimpl
def rayhist_storage() -> StorageKind:
    return StorageKind(api=1, name="s3", schemes=("s3a",), options=Options, open=open_store)
