"""From a URL and options to a store."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import obstore.store

from rayhist.storage import Store
from rayhist_obstore.client import bucket_and_prefix, checked_endpoint
from rayhist_obstore.opening import opened_below
from rayhist_storage_s3.credentials import keys_of
from rayhist_storage_s3.dialect import DIALECT
from rayhist_storage_s3.options import Options

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig, S3Config, S3Store

_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]\Z")


def opened(url: str, options: Options) -> Store:
    """The store of a URL.  Raises `ConfigError`."""
    bucket, prefix = bucket_and_prefix(url, _BUCKET, "s3://bucket/prefix")
    config = _config(bucket, options)

    def connect(client: ClientConfig, retries: RetryConfig) -> S3Store:
        return obstore.store.S3Store(
            bucket,
            config=config,
            client_options=client,
            retry_config=retries,
            credential_provider=keys_of(options, os.environ),
        )

    return opened_below(f"s3://{bucket}", prefix, connect, options, DIALECT)


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
    endpoint = checked_endpoint(options.endpoint, options, "https://s3.example.com")
    if options.path_style:
        return endpoint
    # obstore takes an endpoint as it is, and so it has to name the bucket.
    parts = urlsplit(endpoint)
    return parts._replace(netloc=f"{bucket}.{parts.netloc}").geturl()
