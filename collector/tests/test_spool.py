"""The spool keeps what was promised: one user at a time, whole files, and nothing deleted that is new."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from rayhist.errors import ConfigError
from rayhist_collector.spool import Spool


def test_a_second_collector_on_one_spool_is_refused(tmp_path: Path) -> None:
    first = Spool(tmp_path / "spool")
    with pytest.raises(ConfigError, match="another collector uses the spool"):
        Spool(tmp_path / "spool")
    first.release()
    Spool(tmp_path / "spool").release()


def test_a_spool_that_cannot_be_made_names_the_folder_and_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="file/spool cannot be used") as refused:
        Spool(tmp_path / "file" / "spool")
    assert "spool" in (refused.value.remedy or "")


def test_a_temp_dir_made_for_the_spool_is_open_to_ray(tmp_path: Path) -> None:
    """Ray may run as another user, and would fail if it could not write into its temp dir."""
    before = os.umask(0o077)
    try:
        Spool(tmp_path / "ray" / "rayhist-spool").release()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "ray").stat().st_mode) == 0o777
    assert stat.S_IMODE((tmp_path / "ray" / "rayhist-spool").stat().st_mode) == 0o700


def test_sealed_files_come_oldest_first_and_with_their_sizes(spool: Spool) -> None:
    for number, key in enumerate(["z/1", "a/2", "m/n/3"]):
        spool.seal_bytes(key, b"x" * (number + 1))
        found = spool.look(key)
        assert found is not None
        os.utime(found.sealed.path, ns=(number, number))
    assert spool.sealed_keys() == ["z/1", "a/2", "m/n/3"]
    assert spool.usage() == (3, 6)


def test_a_file_written_anew_while_it_was_sent_is_not_deleted(spool: Spool) -> None:
    spool.seal_bytes("a/marker", b"old")
    sent = spool.look("a/marker")
    assert sent is not None
    spool.seal_bytes("a/marker", b"new")
    assert not spool.forget(sent)
    now = spool.look("a/marker")
    assert now is not None
    assert now.sealed.path.read_bytes() == b"new"
    assert spool.forget(now)
    assert spool.sealed_keys() == []


def test_forgetting_leaves_no_empty_folders_and_no_holes(spool: Spool) -> None:
    spool.seal_bytes("a/b/c/1", b"")
    spool.seal_bytes("a/b/2", b"")
    for key in ("a/b/c/1", "a/b/2"):
        entry = spool.look(key)
        assert entry is not None
        assert spool.forget(entry)
    assert [path.name for path in (spool.root / "sealed").iterdir()] == []
    spool.seal_bytes("a/b/c/3", b"")
    assert spool.sealed_keys() == ["a/b/c/3"]


def test_a_half_written_file_is_gone_after_the_next_start(spool: Spool, tmp_path: Path) -> None:
    (spool.root / "tmp" / "17").write_bytes(b"half")
    spool.release()
    again = Spool(tmp_path / "spool", fsync=False)
    again.recover()
    again.seal_bytes("a", b"")
    again.release()
    assert list((again.root / "tmp").iterdir()) == []


def test_a_copy_of_a_kept_file_is_sealed_and_the_file_stays(spool: Spool) -> None:
    spool.write(spool.kept / "one", b"body")
    spool.seal_copy("x/one", spool.kept / "one")
    spool.write(spool.kept / "one", b"later")
    entry = spool.look("x/one")
    assert entry is not None
    assert entry.sealed.path.read_bytes() == b"body"
