"""The disk cache of indexes."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from rayhist.errors import ConfigError
from rayhist_server.cache import IndexCache, Lease


def session(number: int) -> str:
    return f"raycluster/ns/c/session_2026-01-01_00-00-00_{number:06d}"


def open_cache(
    folder: Path, *, max_bytes: int = 10**9, max_sessions: int = 100, location: str = "memory:"
) -> IndexCache:
    return IndexCache(folder, location, max_bytes=max_bytes, max_sessions=max_sessions)


def put(cache: IndexCache, which: str, state: str = "a", size: int = 10) -> Lease:
    build = cache.start()
    build.path.write_bytes(b"x" * size)
    return build.publish(which, state)


def test_what_was_published_is_found_also_after_a_restart(tmp_path: Path) -> None:
    put(open_cache(tmp_path), session(1)).close()
    lease = open_cache(tmp_path).lease(session(1), "a")
    assert lease is not None
    assert lease.path.read_bytes() == b"x" * 10


def test_other_states_other_sessions_and_other_archives_are_not_found(tmp_path: Path) -> None:
    put(open_cache(tmp_path), session(1)).close()
    assert open_cache(tmp_path).lease(session(1), "b") is None
    assert open_cache(tmp_path).lease(session(2), "a") is None
    assert open_cache(tmp_path, location="s3://other").lease(session(1), "a") is None


def test_an_unfinished_file_is_never_found(tmp_path: Path) -> None:
    cache = open_cache(tmp_path)
    build = cache.start()
    build.path.write_bytes(b"half")
    build.abandon()
    assert cache.lease(session(1), "a") is None
    assert list(tmp_path.iterdir()) == []


def test_the_least_recently_used_goes_first_when_there_are_too_many(tmp_path: Path) -> None:
    cache = open_cache(tmp_path, max_sessions=2)
    for number, used in ((1, 100), (2, 50)):
        lease = put(cache, session(number))
        os.utime(lease.path, (used, used))
        lease.close()
    put(cache, session(3)).close()
    assert cache.lease(session(2), "a") is None
    assert cache.lease(session(1), "a") is not None


def test_the_limit_in_bytes_holds(tmp_path: Path) -> None:
    cache = open_cache(tmp_path, max_bytes=25)
    for number in range(5):
        put(cache, session(number)).close()
    cache.trim()
    assert cache.usage() == (2, 20)


def test_what_is_leased_is_not_evicted_until_it_is_let_go(tmp_path: Path) -> None:
    cache = open_cache(tmp_path, max_bytes=5)
    lease = put(cache, session(1), size=100)
    open_cache(tmp_path, max_bytes=5).trim()  # another process's eyes
    assert lease.path.exists()
    lease.close()
    cache.trim()
    assert not lease.path.exists()


def test_a_new_state_replaces_the_old_one_but_not_under_a_reader(tmp_path: Path) -> None:
    cache = open_cache(tmp_path)
    reader = put(cache, session(1), "old")
    put(cache, session(1), "newer").close()
    assert reader.path.exists()
    reader.close()
    put(cache, session(1), "newest").close()
    assert [path.name.rpartition("-")[2] for path in tmp_path.iterdir()] == ["newest.index"]


def test_a_dead_builder_s_leftover_is_removed_and_a_living_one_s_is_not(tmp_path: Path) -> None:
    cache = open_cache(tmp_path)
    (tmp_path / "0123.part").write_bytes(b"left over")
    living = cache.start()
    open_cache(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [living.path.name]


def test_a_damaged_file_is_set_aside_and_no_longer_found(tmp_path: Path) -> None:
    cache = open_cache(tmp_path)
    lease = put(cache, session(1))
    cache.set_aside(lease.path)
    lease.close()
    assert cache.lease(session(1), "a") is None
    assert [path.suffix for path in tmp_path.iterdir()] == [".bad"]


def test_a_file_evicted_between_being_found_and_being_leased_counts_as_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = open_cache(tmp_path)
    path = put(cache, session(1)).path
    monkeypatch.setattr("rayhist_server.cache.fcntl.flock", lambda *_: path.unlink(missing_ok=True))
    assert cache.lease(session(1), "a") is None


def test_foreign_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_bytes(b"y" * 1000)
    open_cache(tmp_path, max_bytes=5, max_sessions=1)
    assert (tmp_path / "notes.txt").exists()


def test_the_folder_is_this_user_s_alone(tmp_path: Path) -> None:
    folder = tmp_path / "indexes"
    folder.mkdir(mode=0o755)
    open_cache(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_folder_that_cannot_be_made_is_a_mistake_in_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ConfigError, match="cache folder"):
        open_cache(tmp_path / "file" / "below")
