"""Fixtures around the servers, one server per test run: load this module as a pytest plugin."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rayhist_testkit.servers.alibaba import AUDIENCE, StsFront
from rayhist_testkit.servers.oss import OssFront
from rayhist_testkit.servers.seaweedfs import SeaweedFS
from rayhist_testkit.servers.token_issuer import TokenIssuer


@pytest.fixture(scope="session")
def token_issuer() -> Iterator[TokenIssuer]:
    """A running issuer of service accounts' tokens."""
    with TokenIssuer() as issuer:
        yield issuer


@pytest.fixture(scope="session")
def seaweedfs(tmp_path_factory: pytest.TempPathFactory, token_issuer: TokenIssuer) -> Iterator[SeaweedFS]:
    """A running SeaweedFS, which trusts the issuer, with an empty bucket: keep to a prefix of your own."""
    folder = tmp_path_factory.mktemp("seaweedfs")
    with SeaweedFS(folder, issuer=token_issuer.endpoint, audience=AUDIENCE) as server:
        yield server


@pytest.fixture(scope="session")
def oss_front(seaweedfs: SeaweedFS) -> Iterator[OssFront]:
    """OSS before the running SeaweedFS."""
    with OssFront(seaweedfs.port) as front:
        yield front


@pytest.fixture
def sts_front(seaweedfs: SeaweedFS, token_issuer: TokenIssuer) -> Iterator[StsFront]:
    """Alibaba's STS before the running SeaweedFS."""
    with StsFront(seaweedfs.port, token_issuer.endpoint) as front:
        yield front
