"""The `oss` store: Alibaba Cloud Object Storage Service.  `oss://bucket/prefix`."""

from __future__ import annotations

from rayhist.hookspecs import hookimpl
from rayhist.kinds import StorageKind
from rayhist.storage import Store
from rayhist_storage_oss.options import Options


def open_store(url: str, options: Options) -> Store:
    """Open `oss://bucket` or `oss://bucket/prefix`; nothing is asked of the server yet.

    Raises `ConfigError` for a URL, an option or an identity that cannot work.
    """
    from rayhist_storage_oss.opening import opened  # noqa: PLC0415 - the SDK is for those who chose it

    return opened(url, options)


@hookimpl
def rayhist_storage() -> StorageKind:
    return StorageKind(api=1, name="oss", schemes=("oss",), options=Options, open=open_store)
