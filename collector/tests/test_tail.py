"""Whatever is written, rotated and truncated: the packs hold every byte of every file once, in its place."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from rayhist.logpack import PackWriter, member_span, read_member, read_table
from rayhist_collector.log_scan import LogEntry, scan
from rayhist_collector.positions import Positions
from rayhist_collector.tail import Tail

SESSION = "session_2026-11-30_15-25-10_490256_10672"


class Follower:
    """A tail with its positions on disk, and everything that was ever sealed."""

    def __init__(self, root: Path) -> None:
        self.logs = root / "logs"
        self.logs.mkdir()
        (root / "state").mkdir()
        self.root = root
        self.now_ms = 1_796_052_310_000
        self.bodies: dict[str, dict[tuple[int, int], bytes]] = defaultdict(dict)
        self.names: dict[str, tuple[str, list[str]]] = {}
        self.packs = 0
        self.restart()

    def restart(self) -> None:
        positions = Positions(self.root / "state")
        self.tail = Tail(self.logs, positions.load(SESSION), lambda files: positions.store(SESSION, files))

    def sweep(self, *, most_bytes: int = 1 << 30, crash: str = "") -> None:
        """One sweep; `crash` stops it before the pack is sealed, or before the positions say so."""
        self.now_ms += 1000
        more = self.tail.look(scan(self.logs).entries, self.now_ms)
        while more:
            self.packs += 1
            path = self.root / f"{self.packs}.zip"
            with PackWriter(path) as pack:
                more = self.tail.record(pack, most_bytes=most_bytes, most_per_file=max(1, most_bytes // 2))
            if crash == "before sealing":
                break
            self._seal(path)
            if crash == "before committing":
                break
            self.tail.commit()
        if crash:
            self.restart()

    def _seal(self, path: Path) -> None:
        data = path.read_bytes()
        table = read_table(data, path.name)
        for file in table.files:
            self.names[file.id] = (file.path, file.previous)
        for entry in table.ranges:
            begin, end = member_span(entry)
            body = read_member(data[begin:end], entry, path.name)
            known = self.bodies[entry.file_id].setdefault((entry.start, entry.end), body)
            assert known == body, "the same range with other bytes"

    def files(self) -> dict[str, bytes]:
        """The bytes of each file id; ranges must be contiguous and without overlap."""
        made = {}
        for file_id, ranges in self.bodies.items():
            body = b""
            for (start, end), piece in sorted(ranges.items()):
                assert start == len(body), (
                    f"{self.names[file_id]}: a gap or an overlap at {start}, not {len(body)}"
                )
                assert end - start == len(piece)
                body += piece
            made[file_id] = body
        return made


class Rotation(RuleBasedStateMachine):
    """A model of files: what was ever written to each, by inode and generation."""

    def __init__(self) -> None:
        super().__init__()
        import tempfile

        self._folder = tempfile.TemporaryDirectory()
        self.follower = Follower(Path(self._folder.name))
        self.logs = self.follower.logs
        self.written: dict[str, bytes] = {}
        self.finished: list[bytes] = []
        self.counter = 0

    def teardown(self) -> None:
        self._folder.cleanup()

    def _unique(self, size: int) -> bytes:
        # No line like another, as in logs with timestamps.
        self.counter += 1
        return (b"%08d:" % self.counter) + b"x" * size + b"\n"

    @rule(name=st.sampled_from(["a.log", "b.out", "deep/c.err"]), size=st.integers(0, 3000))
    def append(self, name: str, size: int) -> None:
        data = self._unique(size)
        path = self.logs / name
        path.parent.mkdir(exist_ok=True)
        with path.open("ab") as file:
            file.write(data)
        self.written[name] = self.written.get(name, b"") + data

    @rule(name=st.sampled_from(["a.log", "b.out"]))
    def rotate(self, name: str) -> None:
        """As Ray does: `.2` becomes `.3`, `.1` becomes `.2`, the file becomes `.1`."""
        for number in (2, 1, 0):
            old = f"{name}.{number}" if number else name
            if old in self.written:
                if f"{name}.{number + 1}" in self.written:
                    self.follower.sweep()  # else the oldest would be lost unread, which is another test
                    self.finished.append(self.written.pop(f"{name}.{number + 1}"))
                (self.logs / old).replace(self.logs / f"{name}.{number + 1}")
                self.written[f"{name}.{number + 1}"] = self.written.pop(old)

    @precondition(lambda self: self.written)
    @rule(data=st.data(), size=st.integers(0, 3000))
    def truncate(self, data: st.DataObject, size: int) -> None:
        """In place, and written to again at once, perhaps beyond the old size."""
        name = data.draw(st.sampled_from(sorted(self.written)))
        self.follower.sweep()
        self.finished.append(self.written[name])
        with (self.logs / name).open("wb") as file:
            self.written[name] = self._unique(size)
            file.write(self.written[name])

    @precondition(lambda self: self.written)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.written)))
        self.follower.sweep()
        self.finished.append(self.written.pop(name))
        (self.logs / name).unlink()

    @rule(most_bytes=st.sampled_from([1000, 5000, 1 << 30]))
    def sweep(self, most_bytes: int) -> None:
        self.follower.sweep(most_bytes=most_bytes)

    @rule(crash=st.sampled_from(["before sealing", "before committing"]))
    def crash(self, crash: str) -> None:
        self.follower.sweep(crash=crash)

    @rule()
    def restart(self) -> None:
        self.follower.restart()

    @invariant()
    def every_byte_is_there_once(self) -> None:
        self.follower.sweep()
        recorded = sorted(self.follower.files().values())
        assert recorded == sorted([*self.finished, *self.written.values()])
        files = [one for one in self.follower.tail.files if not (one.missed or one.folder)]
        current = {self.follower.names[one.id][0] for one in files}
        assert current == set(self.written)


class SparseRotation(Rotation):
    """The same, but looked at only now and then."""

    @invariant()
    def every_byte_is_there_once(self) -> None:
        if self.counter % 7 == 0:
            super().every_byte_is_there_once()


TestRotation = Rotation.TestCase
TestRotation.settings = settings(max_examples=15, stateful_step_count=15, deadline=None)
TestSparseRotation = SparseRotation.TestCase
TestSparseRotation.settings = settings(max_examples=15, stateful_step_count=25, deadline=None)


@pytest.fixture
def follower(tmp_path: Path) -> Follower:
    return Follower(tmp_path)


def test_a_renamed_file_keeps_its_id_and_says_its_earlier_names(follower: Follower) -> None:
    (follower.logs / "raylet.out").write_bytes(b"first\n")
    follower.sweep()
    (follower.logs / "raylet.out").rename(follower.logs / "raylet.out.1")
    (follower.logs / "raylet.out").write_bytes(b"second\n")
    follower.sweep()
    assert sorted(follower.names.values()) == [("raylet.out", []), ("raylet.out.1", ["raylet.out"])]
    assert sorted(follower.files().values()) == [b"first\n", b"second\n"]


def test_an_empty_file_is_named_once(follower: Follower) -> None:
    """Ray's list of log files has it, and shows it as empty."""
    (follower.logs / "raylet.err").touch()
    follower.sweep()
    assert [path for path, _ in follower.names.values()] == ["raylet.err"]
    follower.sweep()
    assert follower.packs == 1
    (follower.logs / "raylet.err").write_bytes(b"x")
    follower.sweep()
    assert list(follower.files().values()) == [b"x"]


def test_an_inode_that_is_given_to_another_file_makes_no_rename(follower: Follower) -> None:
    """Nothing of the first was read that could tell them apart but their names."""
    entry = LogEntry("one.err", 1, 2, 0, 3)
    follower.tail.look([entry], 1)
    follower.tail.look([entry._replace(path="other.err", modified_ns=4)], 2)
    [file] = follower.tail.files
    assert (file.path, file.previous) == ("other.err", [])


def test_an_empty_folder_is_named_until_there_is_a_file_in_it(follower: Follower) -> None:
    (follower.logs / "old").mkdir()
    follower.sweep()
    assert [path for path, _ in follower.names.values()] == ["old"]
    (follower.logs / "old" / "a.log").write_bytes(b"x")
    follower.sweep()
    assert sorted(path for path, _ in follower.names.values()) == ["old", "old/a.log"]
    assert follower.packs == 2


def test_binary_bytes_and_a_line_without_an_end_come_back_unchanged(follower: Follower) -> None:
    body = bytes(range(256)) * 5000 + b"no end"
    (follower.logs / "worker.out").write_bytes(body)
    follower.sweep(most_bytes=100_000)
    assert list(follower.files().values()) == [body]
    assert follower.packs > 10


def test_a_file_that_was_overlooked_while_it_was_renamed_is_not_sent_again(follower: Follower) -> None:
    """A scan that runs while files are renamed may miss one; it is there in the next."""
    (follower.logs / "a.log").write_bytes(b"content\n")
    follower.sweep()
    assert not follower.tail.look([], follower.now_ms + 1)
    follower.sweep()
    assert len(follower.files()) == 1
    assert follower.packs == 1


def test_bytes_that_were_seen_but_deleted_unread_are_counted(follower: Follower) -> None:
    entry = LogEntry("gone.log", 1, 2, 1000, 3)
    assert follower.tail.look([entry], 1)
    for _ in range(3):
        follower.tail.look([], 2)
    assert follower.tail.unread == {"gone.log": 1000}
    assert follower.tail.files == []


def test_a_file_cut_between_scan_and_reading_is_recorded_as_far_as_it_goes(follower: Follower) -> None:
    path = follower.logs / "a.log"
    path.write_bytes(b"x" * 1000)
    follower.tail.look(scan(follower.logs).entries, follower.now_ms)
    os.truncate(path, 600)
    with PackWriter(follower.root / "x.zip") as pack:
        follower.tail.record(pack, most_bytes=1000, most_per_file=1000)
    follower.tail.commit()
    [file] = follower.tail.files
    assert (file.offset, pack.ends[file.id]) == (600, 600)


def test_a_file_swapped_for_a_link_after_the_scan_is_not_followed(follower: Follower, tmp_path: Path) -> None:
    (follower.logs / "a.log").write_bytes(b"mine\n")
    entries = scan(follower.logs).entries
    (tmp_path / "secret").write_bytes(b"secret\n")
    (follower.logs / "a.log").unlink()
    (follower.logs / "a.log").symlink_to(tmp_path / "secret")
    assert follower.tail.look(entries, 1)
    with PackWriter(tmp_path / "x.zip") as pack:
        assert not follower.tail.record(pack, most_bytes=1000, most_per_file=1000)
    assert pack.empty


def test_an_unreadable_file_is_named_and_does_not_spin(
    follower: Follower, monkeypatch: pytest.MonkeyPatch
) -> None:
    (follower.logs / "a.log").write_bytes(b"1")
    (follower.logs / "b.log").write_bytes(b"2")
    original = os.open

    def denied(path: Path, *arguments: int) -> int:  # permissions do not stop root, who may run the tests
        if Path(path).name == "a.log":
            raise PermissionError(13, "Permission denied")
        return original(path, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", denied)
        follower.sweep()
    assert follower.tail.problems == {"a.log": "Permission denied"}
    assert list(follower.files().values()) == [b"2"]


def test_a_huge_file_does_not_keep_the_others_waiting(follower: Follower) -> None:
    (follower.logs / "aaa.log").write_bytes(b"x" * 1_000_000)
    (follower.logs / "zzz.log").write_bytes(b"small\n")
    follower.tail.look(scan(follower.logs).entries, 1)
    with PackWriter(follower.root / "x.zip") as pack:
        assert follower.tail.record(pack, most_bytes=100_000, most_per_file=50_000)
    assert {file.path for file in pack.files} == {"aaa.log", "zzz.log"}


def test_what_a_user_looks_for_first_goes_first(follower: Follower) -> None:
    for name in ("monitor.log", "worker-1.out", "gcs_server.out", "raylet.out", "job-driver-x.log"):
        (follower.logs / name).write_bytes(b"1")
    follower.tail.look(scan(follower.logs).entries, 1)
    with PackWriter(follower.root / "x.zip") as pack:
        follower.tail.record(pack, most_bytes=1000, most_per_file=1000)
    assert [file.path.partition(".")[0] for file in pack.files] == [
        "job-driver-x",
        "raylet",
        "gcs_server",
        "worker-1",
        "monitor",
    ]
