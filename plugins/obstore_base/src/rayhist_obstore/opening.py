"""From a way to make clients to a store."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from obstore.exceptions import BaseError

from rayhist.errors import BadIdentifier, ConfigError
from rayhist.storage import Prefixed, Store
from rayhist_obstore.bucket import BucketStore
from rayhist_obstore.client import ClientOptions, client_config, settle_at_exit
from rayhist_obstore.dialect import Dialect
from rayhist_obstore.retry import Retries
from rayhist_obstore.retry_after import RetryAfter

if TYPE_CHECKING:
    from obstore.store import ClientConfig, ObjectStore, RetryConfig

Connect = Callable[["ClientConfig", "RetryConfig"], "ObjectStore"]


def opened_below(
    location: str,
    prefix: str,
    connect: Connect,
    options: ClientOptions,
    dialect: Dialect,
    *,
    kind: Callable[..., BucketStore] = BucketStore,
    address: str = "",
) -> Store:
    """The store below a prefix of a bucket; nothing is asked of the server yet.

    `location` is the bucket's URL.  `connect` makes a client, with the credentials of that moment.  `address`
    is where to ask an overloaded server how long it will be, if errors hide the URL.  Raises `ConfigError`.
    """
    client = client_config(options)
    certificate = client.get("root_certificate")
    assert certificate is None or isinstance(certificate, bytes)
    settle_at_exit()
    try:
        store = kind(
            lambda retries: connect(client, retries),
            location,
            dialect,
            Retries.of(options),
            RetryAfter(address, certificate, options.proxy),
        )
    except (BaseError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise ConfigError(f"{location}: {reason}", remedy="check [storage.options]") from error
    try:
        return Prefixed(store, prefix) if prefix else store
    except BadIdentifier as error:
        raise ConfigError(f"{location}/{prefix}: {error}", remedy="choose a plain prefix") from error
