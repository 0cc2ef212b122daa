"""The `oss` plugin keeps the contracts, on a real S3 server behind OSS's rules."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from clouds.archives import ArchiveTests

from rayhist.storage import Store
from rayhist_testkit.contracts import FaultContract, PluginContract, StorageContract
from rayhist_testkit.ports import free_ports
from rayhist_testkit.servers.alibaba import StsFront
from rayhist_testkit.servers.oss import OssFront
from rayhist_testkit.servers.seaweedfs import BUCKET, READER, STRANGER, SeaweedFS
from rayhist_testkit.servers.token_issuer import TokenIssuer

from .oss_options import opened, pod_token, with_keys, with_role


class TestPlugin(PluginContract):
    role, name = "storage", "oss"
    light_modules = ("rayhist_obstore",)


@pytest.mark.services
@pytest.mark.cloud("oss")
@pytest.mark.identity("RRSA")
@pytest.mark.timeout(180)
class TestStore(StorageContract):
    """As a pod with a role, and with keys where rights differ."""

    @pytest.fixture(autouse=True)
    def _servers(
        self,
        oss_front: OssFront,
        sts_front: StsFront,
        seaweedfs: SeaweedFS,
        token_issuer: TokenIssuer,
        tmp_path: Path,
    ) -> None:
        self.front, self.server = oss_front, seaweedfs
        (tmp_path / "pod").mkdir()
        self.role = with_role(oss_front, sts_front, pod_token(token_issuer, tmp_path / "pod"))

    def _opened(self, options: dict[str, Any]) -> AbstractAsyncContextManager[Store]:
        return opened(f"oss://{BUCKET}/contract/{uuid4().hex}", **options)

    def open_store(self) -> AbstractAsyncContextManager[Store]:
        return self._opened(self.role)

    def open_denied_store(self) -> AbstractAsyncContextManager[Store]:
        return self._opened(with_keys(self.front, self.server, STRANGER))

    def open_read_only_store(self) -> AbstractAsyncContextManager[Store]:
        return self._opened(with_keys(self.front, self.server, READER))

    def open_unreachable_store(self) -> AbstractAsyncContextManager[Store]:
        [closed] = free_ports(1)
        return self._opened(
            with_keys(self.front, self.server) | {"proxy": f"http://127.0.0.1:{closed}", "max_retries": 1}
        )

    @pytest.mark.xfail(reason="SeaweedFS orders a folder by its name without the slash; OSS does not")
    def test_a_folder_is_ordered_with_its_slash(self) -> None:
        super().test_a_folder_is_ordered_with_its_slash()

    @pytest.mark.xfail(reason="SeaweedFS removes an empty folder some time later", strict=False)
    def test_a_folder_ends_with_its_last_object(self) -> None:
        super().test_a_folder_ends_with_its_last_object()


@pytest.mark.services
@pytest.mark.cloud("oss")
@pytest.mark.timeout(180)
class TestFaults(FaultContract):
    """The proxy that spoils stands before OSS's, and is the one that the client goes through."""

    bucket_missing = "<Error><Code>NoSuchBucket</Code><Message>no</Message></Error>"
    expired = (403, "<Error><Code>SecurityTokenExpired</Code><Message>too old</Message></Error>")

    @pytest.fixture(autouse=True)
    def _servers(self, oss_front: OssFront, seaweedfs: SeaweedFS) -> None:
        self.front, self.server = oss_front, seaweedfs

    def port(self) -> int:
        return urlsplit(self.front.endpoint).port or 0

    def open_at(self, endpoint: str, options: dict[str, Any]) -> AbstractAsyncContextManager[Store]:
        keys = with_keys(self.front, self.server)
        return opened(f"oss://{BUCKET}/faults/{uuid4().hex}", **(keys | options | {"proxy": endpoint}))


@pytest.mark.services
@pytest.mark.cloud("oss")
@pytest.mark.timeout(180)
class TestArchive(ArchiveTests):
    """A collector and a server with the pod's role."""

    @pytest.fixture(autouse=True)
    def _servers(
        self, oss_front: OssFront, sts_front: StsFront, token_issuer: TokenIssuer, tmp_path: Path
    ) -> None:
        (tmp_path / "pod").mkdir()
        self.role = with_role(oss_front, sts_front, pod_token(token_issuer, tmp_path / "pod"))

    def url_and_options(self) -> tuple[str, dict[str, Any]]:
        return f"oss://{BUCKET}/archive/{uuid4().hex}", self.role
