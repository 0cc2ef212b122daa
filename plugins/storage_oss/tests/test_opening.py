"""URLs, options and identities: what cannot work is said before the first request."""

from __future__ import annotations

from typing import Any

import pytest

from rayhist.errors import ConfigError

from .oss_options import opened

KEYS: dict[str, Any] = {"access_key_id": {"env": "ACCESS"}, "access_key_secret": {"env": "SECRET"}}
REGION: dict[str, Any] = {"region": "cn-hangzhou"}
RRSA = {
    "ALIBABA_CLOUD_ROLE_ARN": "acs:ram::1:role/r",
    "ALIBABA_CLOUD_OIDC_PROVIDER_ARN": "acs:ram::1:oidc-provider/p",
    "ALIBABA_CLOUD_OIDC_TOKEN_FILE": "/var/run/secrets/token",
}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*RRSA, "ALIBABA_CLOUD_ACCESS_KEY_ID", "ALIBABA_CLOUD_STS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ACCESS", "access")
    monkeypatch.setenv("SECRET", "s3cr3t")


@pytest.mark.parametrize(
    "url", ["oss://", "oss://b", "oss://user:secret@bucket", "oss://Bucket/p", "oss://bucket/a/../b"]
)
def test_a_url_that_cannot_be_an_archive_is_refused_with_a_remedy(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        opened(url, **KEYS, **REGION)
    assert caught.value.remedy
    assert "user:secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (REGION | {"metadata_service": False}, "no credentials for OSS"),
        (REGION | {"access_key_id": {"env": "ACCESS"}}, "belong together"),
        (REGION | KEYS | {"identity": "anonymous"}, "anonymous"),
        (REGION | {"identity": "keys"}, "no credentials for OSS"),
        (REGION | {"identity": "rrsa"}, r"ALIBABA_CLOUD_ROLE_ARN.*ALIBABA_CLOUD_OIDC_TOKEN_FILE"),
        (REGION | {"role_arn": "acs:ram::1:role/r"}, r"RRSA without oidc_provider_arn"),
        (REGION | KEYS | {"access_key_secret": {"env": "NO_SUCH"}}, "NO_SUCH"),
        (KEYS, "no region"),
        (KEYS | {"region": "https://oss-cn-hangzhou.aliyuncs.com"}, "no region"),
        (REGION | KEYS | {"endpoint": "http://oss.example.com"}, "not encrypted"),
        (REGION | KEYS | {"proxy": "http://user:pass@proxy:3128"}, "holds a password"),
        (REGION | KEYS | {"network": "fast"}, r"\$\.storage\.options\.network"),
        (REGION | KEYS | {"session_s": 60}, r"\$\.storage\.options\.session_s"),
        (REGION | {"identity": "ecs-role", "metadata_endpoint": "100.100.100.200"}, "no address"),
    ],
)
def test_an_option_that_cannot_work_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        opened("oss://bucket/prefix", **options)
    assert caught.value.remedy or "$." in str(caught.value)
    assert "s3cr3t" not in f"{caught.value} {caught.value.remedy}"


@pytest.mark.parametrize(
    ("options", "host"),
    [
        ({}, "s3.oss-cn-hangzhou.aliyuncs.com"),
        ({"region": "oss-cn-hangzhou"}, "s3.oss-cn-hangzhou.aliyuncs.com"),
        ({"network": "internal"}, "s3.oss-cn-hangzhou-internal.aliyuncs.com"),
        ({"network": "accelerate"}, "s3.oss-accelerate.aliyuncs.com"),
        ({"network": "accelerate-overseas"}, "s3.oss-accelerate-overseas.aliyuncs.com"),
        ({"endpoint": "https://oss.example.com/"}, "oss.example.com"),
    ],
)
def test_the_bucket_stands_in_the_hosts_name(options: dict[str, Any], host: str) -> None:
    store: Any = opened("oss://bucket", **(REGION | KEYS | options))
    assert store._clients.current.config["endpoint"] == f"https://bucket.{host}"


def test_what_a_pod_is_given_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in RRSA.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("ALIBABA_CLOUD_STS_REGION", "cn-beijing")
    store: Any = opened("oss://bucket", network="internal")
    assert "acs:ram::1:role/r" in store._credentials.description
    assert "https://sts-vpc.cn-beijing.aliyuncs.com" in store._credentials.description
    assert "s3.oss-cn-beijing-internal" in store._clients.current.config["endpoint"]


def test_sts_is_where_the_pod_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in RRSA.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("ALIBABA_CLOUD_STS_ENDPOINT", "sts-vpc.cn-shanghai.aliyuncs.com")
    store: Any = opened("oss://bucket", **REGION)
    assert store._credentials.description.endswith("https://sts-vpc.cn-shanghai.aliyuncs.com")


def test_keys_of_the_options_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in RRSA.items():
        monkeypatch.setenv(name, value)
    store: Any = opened("oss://bucket", **REGION, **KEYS)
    assert "static keys" in store._credentials.description
    assert "s3cr3t" not in repr(store) + store._credentials.description
