"""Identities that are lent: the pod's role through STS, the instance's through its metadata service."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from rayhist.errors import ConfigError, Denied, Exists, RayhistError, Unavailable
from rayhist.storage import Store
from rayhist_testkit.ports import free_ports
from rayhist_testkit.servers.alibaba import EcsMetadata, StsFront, TrustPolicy
from rayhist_testkit.servers.oss import OssFront
from rayhist_testkit.servers.seaweedfs import BUCKET, SeaweedFS
from rayhist_testkit.servers.token_issuer import TokenIssuer

from .oss_options import opened, pod_token, through, with_keys, with_role

pytestmark = [pytest.mark.services, pytest.mark.cloud("oss"), pytest.mark.timeout(180)]
Options = dict[str, Any]


@pytest.fixture
def role(oss_front: OssFront, sts_front: StsFront, token_issuer: TokenIssuer, tmp_path: Path) -> Options:
    return with_role(oss_front, sts_front, pod_token(token_issuer, tmp_path))


def using(options: Options, work: Callable[[Store], Awaitable[Any]]) -> Any:
    async def inside() -> Any:
        async with opened(f"oss://{BUCKET}/roles/{uuid4().hex}", **options) as store:
            return await work(store)

    return asyncio.run(inside())


def refused(options: Options) -> RayhistError:
    with pytest.raises(RayhistError) as caught:
        using(options, lambda store: store.get("key"))
    assert caught.value.remedy
    return caught.value


def lend(sts: StsFront, issuer: TokenIssuer) -> dict[str, str]:
    """Temporary keys, as somebody else would have got them."""
    fields = {"RoleSessionName": "somebody", "DurationSeconds": "3600"}
    lent = sts.lend(fields | {"OIDCToken": issuer.token("sts.aliyuncs.com")})
    assert lent is not None
    return lent


async def write_and_read(store: Store) -> None:
    await store.put("a/b", b"data", if_absent=True)
    with pytest.raises(Exists):
        await store.put("a/b", b"other", if_absent=True)
    assert await store.get("a/b") == b"data"
    await store.delete("a/b")


def test_any_number_of_requests_at_once_ask_sts_once(role: Options, sts_front: StsFront) -> None:
    async def many(store: Store) -> None:
        await asyncio.gather(*(store.put(f"key/{number}", b"x") for number in range(40)))
        await store.put("key/0", b"x", if_absent=False)
        assert len([info async for info in store.list_objects("key/")]) == 40

    using(role, many)
    assert sts_front.requests == 1


@pytest.mark.identity("RRSA")
def test_a_role_writes_reads_creates_and_deletes(role: Options) -> None:
    using(role, write_and_read)


def test_the_internal_and_the_accelerated_endpoint_take_the_same(role: Options, oss_front: OssFront) -> None:
    for host in ("s3.oss-xx-test-internal", "s3.oss-accelerate"):
        using(role | {"endpoint": oss_front.address(host)}, write_and_read)


def test_credentials_are_renewed_before_they_expire(role: Options, sts_front: StsFront) -> None:
    """These are said to have expired, and so are too old for the next request."""
    sts_front.lifetime = timedelta(seconds=-10)

    async def twice(store: Store) -> None:
        await store.put("key", b"x")
        await store.put("key", b"y")

    using(role, twice)
    assert sts_front.requests >= 2


def test_a_replaced_token_file_is_read_again(
    role: Options, sts_front: StsFront, token_issuer: TokenIssuer
) -> None:
    path = Path(role["oidc_token_file"])
    sts_front.lifetime = timedelta(seconds=-10)

    async def replaced(store: Store) -> None:
        await store.put("key", b"x")
        path.write_text(token_issuer.token("somebody.else"))
        with pytest.raises(Denied, match="AudienceNotMatch"):
            await store.put("key", b"y")

    using(role, replaced)


def test_a_busy_sts_is_asked_again(role: Options, sts_front: StsFront) -> None:
    sts_front.throttled = 2
    using(role, write_and_read)
    assert sts_front.requests == 3


def test_an_sts_that_stays_busy_makes_the_store_unavailable(role: Options, sts_front: StsFront) -> None:
    """And is not asked once per request: a failure is believed for some seconds."""
    sts_front.throttled = 1000

    async def tried(store: Store) -> None:
        for _ in range(20):
            with pytest.raises(Unavailable, match=r"Throttling\.User"):
                await store.get("key")

    using(role, tried)
    assert sts_front.requests < 10


def test_an_sts_that_nobody_answers_for_is_unavailable(role: Options) -> None:
    [closed] = free_ports(1)
    error = refused(role | {"sts_endpoint": f"http://127.0.0.1:{closed}"})
    assert isinstance(error, Unavailable)


@pytest.mark.parametrize(
    "trust",
    [TrustPolicy(action="sts:AssumeRoleWithOIDC"), TrustPolicy(subject="system:serviceaccount:ray:other")],
)
def test_a_wrong_trust_policy_is_named_as_the_likely_cause(
    role: Options, sts_front: StsFront, trust: TrustPolicy
) -> None:
    sts_front.trust = trust
    error = refused(role)
    assert isinstance(error, Denied)
    assert "AuthenticationFail.NoPermission" in str(error)
    assert error.remedy is not None
    for named in ("trust policy", "sts:AssumeRole (not sts:AssumeRoleWithOIDC)", "oidc:sub", "oidc:iss"):
        assert named in error.remedy


@pytest.mark.parametrize(
    ("claims", "code", "remedy"),
    [
        ({"audience": "sts.amazonaws.com"}, "AudienceNotMatch", "sts.aliyuncs.com"),
        ({"ttl_s": -60}, "Expired", "kubelet"),
    ],
)
def test_a_token_that_sts_refuses_is_explained(
    role: Options, token_issuer: TokenIssuer, claims: Options, code: str, remedy: str
) -> None:
    pod_token(token_issuer, Path(role["oidc_token_file"]).parent, **claims)
    error = refused(role)
    assert isinstance(error, Denied)
    assert code in str(error)
    assert remedy in str(error.remedy)


def test_a_forged_token_is_refused(role: Options) -> None:
    path = Path(role["oidc_token_file"])
    head, middle, _ = path.read_text().split(".")
    path.write_text(f"{head}.{middle}.{'A' * 342}")
    assert "OIDCToken.Invalid" in str(refused(role))


def test_a_role_that_is_not_there_is_named(role: Options) -> None:
    error = refused(role | {"role_arn": "acs:ram::1:role/nobody"})
    assert "EntityNotExist.Role" in str(error)
    assert "role_arn" in str(error.remedy)


def test_a_provider_that_is_not_registered_is_named(role: Options) -> None:
    assert "enable RRSA" in str(refused(role | {"oidc_provider_arn": "acs:ram::1:oidc-provider/x"}).remedy)


@pytest.mark.parametrize("content", [None, "", " \n"])
def test_a_missing_token_file_has_a_remedy(role: Options, content: str | None) -> None:
    path = Path(role["oidc_token_file"])
    path.unlink()
    if content is not None:
        path.write_text(content)
    error = refused(role)
    assert isinstance(error, ConfigError)
    assert str(path) in str(error)
    assert "pod-identity.alibabacloud.com" in str(error.remedy)


def test_the_identity_says_who_and_where(role: Options) -> None:
    said = using(role, lambda store: store.identity())
    assert role["role_arn"] in said
    assert role["oidc_token_file"] in said


@pytest.mark.identity("ECS role")
def test_an_instance_role_comes_from_the_metadata_service(
    oss_front: OssFront, sts_front: StsFront, token_issuer: TokenIssuer
) -> None:
    """With keys that SeaweedFS's own STS has lent."""
    with EcsMetadata(lend(sts_front, token_issuer)) as metadata:
        options = through(oss_front) | {"identity": "ecs-role", "metadata_endpoint": metadata.endpoint}
        using(options, write_and_read)
        using(options | {"ecs_role": metadata.ROLE}, write_and_read)
        assert "attach a RAM role" in str(refused(options | {"ecs_role": "another"}).remedy)


def test_a_machine_without_a_metadata_service_is_unavailable(oss_front: OssFront) -> None:
    [closed] = free_ports(1)
    options = through(oss_front) | {"identity": "ecs-role", "metadata_endpoint": f"http://127.0.0.1:{closed}"}
    assert isinstance(refused(options), Unavailable)


def test_a_bucket_of_another_region_is_said_to_be_one(oss_front: OssFront, seaweedfs: SeaweedFS) -> None:
    options = with_keys(oss_front, seaweedfs) | {"endpoint": oss_front.address("s3.oss-xx-other")}
    error = refused(options)
    assert "region" in str(error.remedy)


@pytest.mark.identity("static keys")
def test_static_keys_write_read_create_and_delete(oss_front: OssFront, seaweedfs: SeaweedFS) -> None:
    using(with_keys(oss_front, seaweedfs), write_and_read)


@pytest.mark.identity("STS token")
def test_a_token_of_sts_writes_reads_creates_and_deletes(
    oss_front: OssFront, sts_front: StsFront, token_issuer: TokenIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    lent = lend(sts_front, token_issuer)
    monkeypatch.setenv("ALIBABA_CLOUD_ACCESS_KEY_ID", lent["AccessKeyId"])
    monkeypatch.setenv("ALIBABA_CLOUD_ACCESS_KEY_SECRET", lent["AccessKeySecret"])
    monkeypatch.setenv("ALIBABA_CLOUD_SECURITY_TOKEN", lent["SecurityToken"])
    using(through(oss_front) | {"identity": "keys"}, write_and_read)


def test_nothing_that_oss_refuses_was_sent(role: Options, oss_front: OssFront) -> None:
    oss_front.refused.clear()

    async def everything(store: Store) -> None:
        await write_and_read(store)
        await store.put_file("file", Path(__file__))
        await store.put("large", bytes(12_000_000))
        await store.delete_many(["file", "large", "missing"])

    using(role, everything)
    assert oss_front.refused == ["FileAlreadyExists"]
