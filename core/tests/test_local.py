"""The `file` store: what a folder does besides keeping the contract."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rayhist.errors import BadIdentifier, ConfigError, Denied, NotFound, Unavailable
from rayhist.local import LocalStore, Options, open_store
from rayhist_testkit.contracts.stores import failure, listed

AS_ROOT = os.geteuid() == 0


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "archive", Options())


def test_an_object_is_a_file_with_its_key_as_path(store: LocalStore, tmp_path: Path) -> None:
    asyncio.run(store.put("a/b.txt", b"data"))
    assert (tmp_path / "archive" / "a" / "b.txt").read_bytes() == b"data"


def test_others_may_read_what_the_umask_lets_them(store: LocalStore, tmp_path: Path) -> None:
    """The server often runs as another user than the collector."""
    before = os.umask(0o027)
    try:
        asyncio.run(store.put("a/b", b""))
    finally:
        os.umask(before)
    assert (tmp_path / "archive" / "a" / "b").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "archive" / "a").stat().st_mode & 0o777 == 0o750


def test_no_temporary_file_stays_or_shows(store: LocalStore, tmp_path: Path) -> None:
    async def body() -> None:
        await store.put("a/b", b"")
        with pytest.raises(NotFound):
            await store.put_file("a/c", tmp_path / "missing")
        assert [path.name for path in (tmp_path / "archive" / "a").iterdir()] == ["b"]
        (tmp_path / "archive" / "a" / ".rayhist-part-left-by-a-crash").write_bytes(b"half")
        assert await listed(store) == ["a/b"]
        await failure(store.put("a/.rayhist-part-x", b""), BadIdentifier, "put")

    asyncio.run(body())


def test_a_file_and_a_folder_cannot_have_one_name(store: LocalStore) -> None:
    """On an object store they can; here the second one is refused for good, not retried for ever."""

    async def body() -> None:
        await store.put("a/b", b"")
        for key in ("a", "a/b/c", "a/b/c/d"):
            await failure(store.put(key, b""), BadIdentifier, f"put of {key}")
            await failure(store.put_file(key, Path(__file__)), BadIdentifier, f"put_file of {key}")
        assert await listed(store) == ["a/b"]

    asyncio.run(body())


def test_files_of_others_are_left_out_unless_they_could_be_objects(store: LocalStore, tmp_path: Path) -> None:
    root = tmp_path / "archive"
    (root / "a").mkdir(parents=True)
    (root / "a" / "good").write_bytes(b"data")
    (root / "a" / "back\\slash").write_bytes(b"")
    (root / "a" / "line\nbreak").write_bytes(b"")
    (root / os.fsdecode(b"not-utf8-\xff")).write_bytes(b"")
    (root / "empty").mkdir()
    (root / "a" / "loop").symlink_to(root)
    (root / "a" / "passwd").symlink_to("/etc/passwd")
    os.mkfifo(root / "a" / "pipe")
    assert asyncio.run(listed(store)) == ["a/good"]


def test_folders_that_became_empty_are_removed_up_to_the_root(store: LocalStore, tmp_path: Path) -> None:
    async def body() -> None:
        await store.put("a/b/c/d", b"")
        await store.put("a/e", b"")
        await store.delete("a/b/c/d")
        assert sorted(path.name for path in (tmp_path / "archive" / "a").iterdir()) == ["e"]
        await store.delete("a/e")
        assert list((tmp_path / "archive").iterdir()) == []

    asyncio.run(body())


def test_putting_and_deleting_beside_each_other_loses_nothing(store: LocalStore) -> None:
    """A deletion removes the folder that a put has just made."""

    async def body() -> None:
        for _ in range(30):
            await store.put("f/old", b"")
            await asyncio.gather(store.delete("f/old"), *(store.put(f"f/{n}", b"") for n in range(3)))
            assert await listed(store) == ["f/0", "f/1", "f/2"]
            await store.delete_many(["f/0", "f/1", "f/2"])

    asyncio.run(body())


def test_a_key_below_a_file_is_not_found(store: LocalStore) -> None:
    async def body() -> None:
        await store.put("a", b"")
        await failure(store.get("a/b"), NotFound, "get")
        assert await listed(store, "a/") == []
        await store.delete("a/b")

    asyncio.run(body())


@pytest.mark.skipif(not Path("/sys").is_dir(), reason="no /sys here")
def test_a_place_where_not_even_root_may_write_is_denied_with_the_remedy() -> None:
    store = LocalStore(Path("/sys/rayhist"), Options())
    for attempt in (store.put("key", b""), store.put_file("a/key", Path(__file__))):
        error = asyncio.run(failure(attempt, Denied, "put"))
        assert "read and write" in (error.remedy or "")


@pytest.mark.skipif(AS_ROOT, reason="root may do everything")
def test_a_folder_without_rights_is_denied_with_the_remedy(store: LocalStore, tmp_path: Path) -> None:
    root = tmp_path / "archive"
    asyncio.run(store.put("a/b", b""))
    (root / "a").chmod(0)
    try:
        for attempt in (store.get("a/b"), store.put("a/c", b""), listed(store), store.head("a/b")):
            error = asyncio.run(failure(attempt, Denied, "attempt"))
            assert "archive/a" in (error.remedy or "")
    finally:
        (root / "a").chmod(0o755)


_FULL = """
import asyncio, resource, signal, sys
from pathlib import Path
from rayhist.errors import Unavailable
from rayhist.local import LocalStore, Options
from rayhist_testkit.contracts.stores import listed

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
store = LocalStore(Path(sys.argv[1]), Options())

async def main():
    await store.put("key", b"before")
    try:
        await store.put("key", b"x" * 200_000)
    except Unavailable as error:
        print(error)
    assert await store.get("key") == b"before"
    assert await listed(store) == ["key"]

asyncio.run(main())
"""


def test_a_disk_that_takes_no_more_is_unavailable_and_keeps_what_was_there(tmp_path: Path) -> None:
    """The limit of a process stands for the disk's."""
    done = subprocess.run(
        [sys.executable, "-c", _FULL, str(tmp_path / "archive")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "File too large" in done.stdout


def test_a_full_disk_has_a_remedy() -> None:
    """`/dev/full` is always full."""
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    from rayhist.local import _writing

    with (
        pytest.raises(Unavailable, match="No space left") as caught,
        _writing("key"),
        Path("/dev/full").open("wb", buffering=0) as file,
    ):
        file.write(b"data")
    assert "free some space" in (caught.value.remedy or "")


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("file://host/x", "names no host"),
        ("file:", "no folder"),
        ("file:///x?y", "meaning"),
        ("file:///x#y", "meaning"),
        ("file:///a%00b", "no folder"),
        ("file:~no-such-user/x", "home"),
    ],
)
def test_a_url_that_names_no_folder_is_refused_with_a_remedy(url: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        open_store(url, Options())
    assert caught.value.remedy


def test_a_url_that_names_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ConfigError, match="is a file, not a folder"):
        open_store((tmp_path / "file").as_uri(), Options())


@pytest.mark.parametrize("name", ["plain", "with space", "per%cent", "h#sh", "qu?ry", "é"])
def test_a_folder_of_any_name_is_opened_by_its_url(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    store = open_store(folder.as_uri(), Options())
    assert store.location == folder.as_uri()
    asyncio.run(store.put("key", b"data"))
    assert (folder / "key").read_bytes() == b"data"


def test_a_relative_url_is_below_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    asyncio.run(open_store("file:archive/x", Options()).put("key", b""))
    assert (tmp_path / "archive" / "x" / "key").exists()
