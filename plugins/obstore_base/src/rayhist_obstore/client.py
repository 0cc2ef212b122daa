"""What all clients of obstore are given."""

from __future__ import annotations

import atexit
import functools
import re
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from rayhist.config import Seconds
from rayhist.errors import ConfigError

if TYPE_CHECKING:
    from obstore.store import ClientConfig

_WHOLE_BODY = timedelta(days=1)
_SETTLE_S = 0.05


class ClientOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Options that all these stores have."""

    allow_http: bool = False
    """Whether `endpoint` may be `http://`, without encryption."""
    proxy: str = ""
    """HTTP proxy on the way, `http://host:port`; empty: as `$HTTPS_PROXY` and `$NO_PROXY` say."""
    ca_certificate: str = ""
    """PEM file of a private certificate authority to trust as well."""
    connect_timeout_s: Seconds = 5.0
    """Seconds until a connection has to stand."""
    read_timeout_s: Seconds = 60.0
    """Seconds without a byte after which an answer counts as lost; a whole body may take any time."""
    max_retries: Annotated[int, Meta(ge=0, le=100)] = 3
    """How often a request is repeated that failed on the way or by the server's fault."""
    retry_timeout_s: Seconds = 20.0
    """Seconds after which it is no longer repeated; a longer `Retry-After` ends it at once."""


def client_config(options: ClientOptions) -> ClientConfig:
    """`client_options` of a client.  Raises `ConfigError` for a proxy or a certificate that cannot be."""
    client: ClientConfig = {
        "allow_http": options.allow_http,
        "connect_timeout": timedelta(seconds=options.connect_timeout_s),
        "read_timeout": timedelta(seconds=options.read_timeout_s),
        "timeout": _WHOLE_BODY,  # obstore's 30 s would cut every large body
        "user_agent": "rayhist",
    }
    if options.proxy:
        client["proxy_url"] = _checked_proxy(options.proxy)
    if options.ca_certificate:
        try:
            client["root_certificate"] = Path(options.ca_certificate).read_bytes()
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"ca_certificate {options.ca_certificate} cannot be read: {error}", remedy="check the path"
            ) from error
    return client


def bucket_and_prefix(url: str, bucket: re.Pattern[str], example: str) -> tuple[str, str]:
    """The bucket's name, which has to match, and the prefix of a store's URL.  Raises `ConfigError`."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise ConfigError(f"{url!r}: {error}", remedy=f"for example {example}") from error
    if "@" in parts.netloc:
        raise ConfigError(
            f"an {parts.scheme}:// URL holds no credentials",
            remedy="set them in [storage.options], as secrets",
        )
    if not bucket.match(parts.netloc):
        raise ConfigError(f"{url!r} names no bucket", remedy=f"for example {example}")
    if parts.query or parts.fragment:
        raise ConfigError(f"{url!r}: a prefix has no '?' and no '#'", remedy="choose a plain prefix")
    return parts.netloc, parts.path.strip("/")


def checked_endpoint(endpoint: str, options: ClientOptions, example: str) -> str:
    """The endpoint without a `/` behind it, if it is an address that may be used.  Raises `ConfigError`."""
    parts = urlsplit(endpoint)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise ConfigError(f"endpoint {endpoint!r} is no address", remedy=f"for example {example}")
    if parts.scheme == "http" and not options.allow_http:
        raise ConfigError(
            f"endpoint {endpoint!r} is not encrypted", remedy="use https, or set allow_http = true"
        )
    return endpoint.rstrip("/")


def _checked_proxy(proxy: str) -> str:
    parts = urlsplit(proxy)
    if parts.scheme not in {"http", "https"} or not parts.netloc or "@" in parts.netloc:
        raise ConfigError(
            "proxy is no address, or holds a password", remedy="for example http://proxy.example.com:3128"
        )
    return proxy


@functools.cache
def settle_at_exit() -> None:
    """Let obstore's threads leave Python before the interpreter ends.

    The one that has just handed over the last answer aborts the process if it is still on its way out
    (github.com/PyO3/pyo3-async-runtimes/issues/40): 9 of 120 short processes without this, none with it.
    """
    atexit.register(time.sleep, _SETTLE_S)
