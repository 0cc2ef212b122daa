"""From a URL and options to a store."""

from __future__ import annotations

import functools
import os
import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import obstore.store

from rayhist.errors import ConfigError
from rayhist.storage import Store
from rayhist_obstore.client import bucket_and_prefix, checked_endpoint, client_config
from rayhist_obstore.opening import opened_below
from rayhist_obstore.retry import Retries
from rayhist_storage_oss.bucket import OssStore
from rayhist_storage_oss.choosing import chosen, region_of
from rayhist_storage_oss.credentials import Credentials
from rayhist_storage_oss.dialect import DIALECT
from rayhist_storage_oss.options import Options

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig, S3Config, S3Store

_BUCKET = re.compile(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]\Z")
_FORBID_OVERWRITE = {"x-oss-forbid-overwrite": "true"}


def opened(url: str, options: Options) -> Store:
    """The store of a URL.  Raises `ConfigError`."""
    bucket, prefix = bucket_and_prefix(url, _BUCKET, "oss://bucket/prefix")
    client = client_config(options)
    certificate = client.get("root_certificate")
    source = chosen(options, os.environ, certificate if isinstance(certificate, bytes) else None)
    credentials = None if source is None else Credentials(source)
    config = _config(bucket, options)

    def made(client: ClientConfig, retries: RetryConfig) -> S3Store:
        return obstore.store.S3Store(
            bucket,
            config=config,
            client_options=client,
            retry_config=retries,
            credential_provider=credentials,
        )

    def connect(_: ClientConfig, retries: RetryConfig) -> S3Store:
        if credentials is not None:
            credentials.doubt()  # a second client is made after a refusal
        return made(client, retries)

    headers: ClientConfig = {**client, "default_headers": _FORBID_OVERWRITE}
    kind = functools.partial(
        OssStore,
        credentials=credentials,
        creating=lambda: made(headers, Retries.none_of_obstore()),
    )
    return opened_below(f"oss://{bucket}", prefix, connect, options, DIALECT, kind=kind)


def _config(bucket: str, options: Options) -> S3Config:
    region = region_of(options, os.environ)
    endpoint = _endpoint(region, options)
    parts = urlsplit(endpoint)
    config: S3Config = {
        # obstore takes an endpoint as it is, and so it has to name the bucket; OSS takes it nowhere else.
        "endpoint": parts._replace(netloc=f"{bucket}.{parts.netloc}").geturl(),
        "virtual_hosted_style_request": True,
        "disable_bulk_delete": True,
        "region": region or "oss",
    }
    if options.identity == "anonymous":
        config["skip_signature"] = True
    return config


def _endpoint(region: str, options: Options) -> str:
    """OSS's addresses for S3 clients (help.aliyun.com, "Accessing OSS with the AWS SDK")."""
    if options.endpoint:
        return checked_endpoint(options.endpoint, options, "https://s3.oss-cn-hangzhou.aliyuncs.com")
    if options.network.startswith("accelerate"):
        return f"https://s3.oss-{options.network}.aliyuncs.com"
    if not re.fullmatch(r"[a-z0-9-]+", region):
        raise ConfigError(
            f"no region of OSS: {region!r}", remedy='set region in [storage.options], such as "cn-hangzhou"'
        )
    inner = "-internal" if options.network == "internal" else ""
    return f"https://s3.oss-{region}{inner}.aliyuncs.com"
