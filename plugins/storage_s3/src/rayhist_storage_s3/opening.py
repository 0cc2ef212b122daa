"""From a URL and options to a store."""

from __future__ import annotations

import atexit
import functools
import os
import re
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import obstore.store
from obstore.exceptions import BaseError

from rayhist.errors import BadIdentifier, ConfigError
from rayhist.storage import Prefixed, Store
from rayhist_storage_s3.bucket import BucketStore
from rayhist_storage_s3.credentials import keys_of
from rayhist_storage_s3.options import Options

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig, S3Config

_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]\Z")
_WHOLE_BODY = timedelta(days=1)
_SETTLE_S = 0.05


def opened(url: str, options: Options) -> Store:
    """The store of a URL.  Raises `ConfigError`."""
    bucket, prefix = _parts(url)
    keys = keys_of(options, os.environ)
    try:
        client = obstore.store.S3Store(
            bucket,
            config=_config(bucket, options),
            client_options=_client(options),
            retry_config=_retries(options),
            credential_provider=keys,
        )
    except (BaseError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise ConfigError(f"{url}: {reason}", remedy="check [storage.options]") from error
    _settle_at_exit()
    store = BucketStore(client, f"s3://{bucket}")
    try:
        return Prefixed(store, prefix) if prefix else store
    except BadIdentifier as error:
        raise ConfigError(f"{url}: {error}", remedy="choose a plain prefix") from error


def _parts(url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise ConfigError(f"{url!r}: {error}", remedy="for example s3://bucket/prefix") from error
    if "@" in parts.netloc:
        raise ConfigError(
            "an s3:// URL holds no credentials", remedy="set them in [storage.options], as secrets"
        )
    if not _BUCKET.match(parts.netloc):
        raise ConfigError(f"{url!r} names no bucket", remedy="for example s3://bucket/prefix")
    if parts.query or parts.fragment:
        raise ConfigError(f"{url!r}: a prefix has no '?' and no '#'", remedy="choose a plain prefix")
    return parts.netloc, parts.path.strip("/")


def _config(bucket: str, options: Options) -> S3Config:
    config: S3Config = {
        "virtual_hosted_style_request": not options.path_style,
        "disable_bulk_delete": not options.bulk_delete,
    }
    if options.endpoint:
        config["endpoint"] = _endpoint(bucket, options)
    if options.region:
        config["region"] = options.region
    if options.anonymous:
        config["skip_signature"] = True
    return config


def _endpoint(bucket: str, options: Options) -> str:
    parts = urlsplit(options.endpoint)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise ConfigError(
            f"endpoint {options.endpoint!r} is no address", remedy="for example https://s3.example.com"
        )
    if parts.scheme == "http" and not options.allow_http:
        raise ConfigError(
            f"endpoint {options.endpoint!r} is not encrypted", remedy="use https, or set allow_http = true"
        )
    if options.path_style:
        return options.endpoint
    # obstore takes an endpoint as it is, and so it has to name the bucket.
    return parts._replace(netloc=f"{bucket}.{parts.netloc}").geturl()


def _client(options: Options) -> ClientConfig:
    client: ClientConfig = {
        "allow_http": options.allow_http,
        "connect_timeout": timedelta(seconds=options.connect_timeout_s),
        "read_timeout": timedelta(seconds=options.read_timeout_s),
        "timeout": _WHOLE_BODY,  # obstore's 30 s would cut every large body
        "user_agent": "rayhist",
    }
    if options.ca_certificate:
        try:
            client["root_certificate"] = Path(options.ca_certificate).read_bytes()
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"ca_certificate {options.ca_certificate} cannot be read: {error}", remedy="check the path"
            ) from error
    return client


def _retries(options: Options) -> RetryConfig:
    return {
        "max_retries": options.max_retries,
        "retry_timeout": timedelta(seconds=options.retry_timeout_s),
        "backoff": {
            "init_backoff": timedelta(milliseconds=100),
            "max_backoff": timedelta(seconds=5),
            "base": 2,
        },
    }


@functools.cache
def _settle_at_exit() -> None:
    """Let obstore's threads leave Python before the interpreter ends.

    The one that has just handed over the last answer aborts the process if it is still on its way out
    (github.com/PyO3/pyo3-async-runtimes/issues/40): 9 of 120 short processes without this, none with it.
    """
    atexit.register(time.sleep, _SETTLE_S)
