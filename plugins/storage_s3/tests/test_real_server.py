"""What the contract does not ask, on a real S3 server."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from rayhist.errors import ConfigError, Unavailable
from rayhist.plugins import Plugins, options_of
from rayhist.storage import Store
from rayhist_testkit.contracts.stores import ALL, failure, listed
from rayhist_testkit.servers.seaweedfs import SeaweedFS

pytestmark = [pytest.mark.services, pytest.mark.timeout(180)]

MIB = 1024 * 1024


def opened(server: SeaweedFS, *, bucket: str = "rayhist", **options: Any) -> Store:
    kind = Plugins.discover().storage("s3")
    given = server.options() | options
    return kind.open(server.url(uuid4().hex, bucket), options_of(kind, given, "$.storage.options"))


def test_a_missing_bucket_is_a_mistake_in_the_configuration(seaweedfs: SeaweedFS) -> None:
    """For every operation: a missing bucket is neither a missing object nor an empty archive."""

    async def body() -> None:
        for name, operation in ALL.items():
            store = opened(seaweedfs, bucket="no-such-bucket")
            error = await failure(operation(store, "some/key"), ConfigError, name)
            assert "create the bucket" in (error.remedy or "")

    asyncio.run(body())


def test_two_roots_of_one_bucket_never_see_each_other(seaweedfs: SeaweedFS) -> None:
    async def body() -> None:
        one, other = opened(seaweedfs), opened(seaweedfs)
        await one.put("a/b", b"one")
        await other.put("a/b", b"other")
        assert (await one.get("a/b"), await other.get("a/b")) == (b"one", b"other")
        assert await listed(one) == await listed(other) == ["a/b"]

    asyncio.run(body())


def test_credentials_of_the_environment_work(seaweedfs: SeaweedFS, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "writer-key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "writer-secret")

    async def body() -> None:
        store = opened(seaweedfs, access_key_id=None, secret_access_key=None)
        await store.put("key", b"data")
        assert await store.get("key") == b"data"

    asyncio.run(body())


def test_a_listing_of_a_text_prefix_stops_behind_it(seaweedfs: SeaweedFS) -> None:
    """Also where the server orders folders in its own way: `a/x` stands before `a-b`."""

    async def body() -> None:
        store = opened(seaweedfs)
        for key in ("t/a/x", "t/a-b/y", "t/a-c", "t/b"):
            await store.put(key, b"")
        assert await listed(store, "t/a-b") == ["t/a-b/y"]

    asyncio.run(body())


def test_a_server_that_goes_away_is_unavailable(tmp_path: Path) -> None:
    """Its connections were used before; and no listing is empty for it."""

    async def body() -> None:
        with SeaweedFS(tmp_path) as server:
            store = opened(server, max_retries=1, retry_timeout_s=2)
            await store.put("some/key", b"data")
            assert await listed(store) == ["some/key"]
            server.kill()
            for name, operation in ALL.items():
                await failure(operation(store, "some/key"), Unavailable, name)

    asyncio.run(body())


_MOVE = """
import asyncio, json, resource, sys
from pathlib import Path
from rayhist.plugins import Plugins, options_of

async def main(url, options, path):
    kind = Plugins.discover().storage("s3")
    async with kind.open(url, options_of(kind, json.loads(options), "$")) as store:
        info = await store.put_file("large", Path(path))
        size = 0
        async for piece in store.stream("large"):
            size += len(piece)
        await store.delete("large")
        print(info.size, size, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)

asyncio.run(main(*sys.argv[1:]))
"""


def test_a_large_file_goes_up_and_down_in_little_memory(seaweedfs: SeaweedFS, tmp_path: Path) -> None:
    """A file larger than all the memory that is used on the way."""
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(400 * MIB)
    options = json.dumps(seaweedfs.options())
    moved = subprocess.run(
        [sys.executable, "-c", _MOVE, seaweedfs.url(uuid4().hex), options, str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert moved.returncode == 0, moved.stderr
    sent, received, peak_kib = map(int, moved.stdout.split())
    assert sent == received == 400 * MIB
    assert peak_kib < 400 * 1024, peak_kib
