"""Fixtures around the servers, one server per test run: load this module as a pytest plugin."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rayhist_testkit.servers.seaweedfs import SeaweedFS


@pytest.fixture(scope="session")
def seaweedfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    """A running SeaweedFS with an empty bucket; keep to a prefix of your own in it."""
    with SeaweedFS(tmp_path_factory.mktemp("seaweedfs")) as server:
        yield server
