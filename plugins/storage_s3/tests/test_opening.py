"""URLs, options and credentials: what cannot work is said before the first request."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rayhist.config import Secret
from rayhist.errors import ConfigError
from rayhist.plugins import Plugins, options_of
from rayhist.storage import Store
from rayhist_storage_s3.credentials import Keys

NO_METADATA: dict[str, Any] = {"metadata_service": False}
KEYS: dict[str, Any] = {"access_key_id": {"env": "ACCESS"}, "secret_access_key": {"env": "SECRET"}}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ACCESS", "access")
    monkeypatch.setenv("SECRET", "s3cr3t")


def opened(url: str = "s3://bucket/prefix", **options: Any) -> Store:
    kind = Plugins.discover().storage("s3")
    return kind.open(url, options_of(kind, options, "$.storage.options"))


@pytest.mark.parametrize(
    "url",
    [
        "s3://",
        "s3:///prefix",
        "s3:bucket",
        "s3://b",
        "s3://user:secret@bucket/prefix",
        "s3://bucket/prefix?versionId=1",
        "s3://bucket/prefix#part",
        "s3://bucket/a/../b",
        "s3://bucket/a//b",
        "s3://[::1/prefix",
        "s3://bücket",
    ],
)
def test_a_url_that_cannot_be_an_archive_is_refused_with_a_remedy(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        opened(url, **KEYS)
    assert caught.value.remedy
    assert "user:secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (NO_METADATA, "no credentials for S3"),
        ({"access_key_id": {"env": "ACCESS"}}, "belong together"),
        ({"secret_access_key": {"env": "SECRET"}}, "belong together"),
        (KEYS | {"anonymous": True}, "anonymous"),
        (KEYS | {"secret_access_key": {"env": "NO_SUCH_VARIABLE"}}, "NO_SUCH_VARIABLE"),
        (KEYS | {"secret_access_key": {"file": "/no/such/file"}}, "/no/such/file"),
        (KEYS | {"secret_access_key": "s3cr3t"}, "never the value itself"),
        (KEYS | {"endpoint": "s3.example.com"}, "no address"),
        (KEYS | {"endpoint": "http://s3.example.com"}, "not encrypted"),
        (KEYS | {"ca_certificate": "/no/such/ca.pem"}, "/no/such/ca.pem"),
        (KEYS | {"max_retries": -1}, r"\$\.storage\.options\.max_retries"),
        (KEYS | {"read_timeout_s": 0}, r"\$\.storage\.options\.read_timeout_s"),
        (KEYS | {"regoin": "eu-west-1"}, r"regoin.*\$\.storage\.options"),
    ],
)
def test_an_option_that_cannot_work_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        opened(**options)
    assert "s3cr3t" not in f"{caught.value} {caught.value.remedy}"


def test_a_certificate_file_without_a_certificate_is_refused(tmp_path: Path) -> None:
    pem = tmp_path / "ca.pem"
    pem.write_text("-----BEGIN CERTIFICATE-----\nbm9uZQ==\n-----END CERTIFICATE-----\n")
    with pytest.raises(ConfigError, match="bucket"):
        opened(**KEYS, ca_certificate=str(pem))


def test_a_location_names_bucket_and_prefix_and_no_secret() -> None:
    store = opened("s3://bucket/some/prefix/", **KEYS)
    assert store.location == "s3://bucket/some/prefix"
    assert "s3cr3t" not in repr(store)


@pytest.mark.parametrize(
    "environment",
    [
        {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s"},
        {"AWS_WEB_IDENTITY_TOKEN_FILE": "/var/run/token", "AWS_ROLE_ARN": "arn:aws:iam::1:role/r"},
    ],
)
def test_credentials_of_the_environment_are_enough(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert opened(**NO_METADATA)


def test_anonymous_access_needs_no_credentials() -> None:
    assert opened(**NO_METADATA, anonymous=True)


def test_opening_asks_nobody() -> None:
    """A collector starts while its store is down."""
    assert opened(endpoint="https://no-such-host.invalid", **KEYS)


def test_rotated_keys_are_read_again(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("before\n")
    keys = Keys(Secret("env", "ACCESS"), Secret("file", str(file)), None)
    assert keys()["secret_access_key"] == "before"
    file.write_text("after\n")
    assert keys()["secret_access_key"] == "after"


def test_a_store_closes_without_having_been_used() -> None:
    asyncio.run(opened(**KEYS).close())
