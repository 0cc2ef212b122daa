"""Regular files are log files, and folders without anything in them are known, too."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from rayhist_collector.log_scan import scan


def test_links_sockets_and_pipes_are_left_out(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    (logs / "events").mkdir(parents=True)
    (logs / "raylet.out").write_text("1")
    (logs / "events" / "event_GCS.log").write_text("2")
    (logs / "empty.log").touch()
    (logs / "passwd").symlink_to("/etc/passwd")
    (logs / "loop").symlink_to(logs)
    os.mkfifo(logs / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(logs / "sock"))
        found = [entry.path for entry in scan(logs).entries]
    assert found == ["empty.log", "events/event_GCS.log", "raylet.out"]


def test_a_folder_is_only_listed_if_nothing_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "full" / "inner").mkdir(parents=True)
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "link").symlink_to("/etc")
    found = {entry.path: (entry.folder, entry.size) for entry in scan(tmp_path).entries}
    assert found == {"full/inner": (True, 0)}


def test_a_name_that_no_key_can_hold_is_named_and_the_rest_goes_on(tmp_path: Path) -> None:
    (tmp_path / "good.log").write_text("1")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff.log")).write_text("2")
    (tmp_path / "line\nbreak.log").write_text("3")
    found = scan(tmp_path)
    assert [entry.path for entry in found.entries] == ["good.log"]
    assert len(found.problems) == 2


def test_an_unreadable_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "closed").mkdir()
    (tmp_path / "open.log").write_text("1")
    original = os.scandir

    def denied(
        path: Path,
    ) -> Iterator[os.DirEntry[str]]:  # permissions do not stop root, who may run the tests
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied")
        return original(path)

    monkeypatch.setattr(os, "scandir", denied)
    found = scan(tmp_path)
    assert found.problems == {"closed/": "Permission denied"}
    assert [entry.path for entry in found.entries] == ["open.log"]


def test_a_missing_folder_has_no_files(tmp_path: Path) -> None:
    assert scan(tmp_path / "gone").entries == []
