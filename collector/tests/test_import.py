"""What no collector recorded is filed as a session, as far as it is there, and what is not there is said."""

from __future__ import annotations

import asyncio
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rayhist import layout
from rayhist.completeness import report
from rayhist.ids import Cluster, ClusterKind, Session
from rayhist.index import Index
from rayhist.local import LocalStore
from rayhist.local import Options as LocalOptions
from rayhist.manifest import Ending, SessionMarker, read_marker
from rayhist.replay import replay
from rayhist_collector.importing import tree
from rayhist_testkit.recordings import RAY_2_60, Recording

from .conftest import clean_environment

SESSION = "session_2026-11-30_15-30-13_707929_24810"
HEAD = "14b8ed7feb82b6199f6c08539de26a4ef141b30849983bbe4bb42790"
CLUSTER = Cluster(ClusterKind.RAYCLUSTER, "default", "nightly")


class Imports:
    """Runs `rayhist import` on a `file` archive of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.archive = folder / "archive"

    def run(self, *arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        run = subprocess.run(
            [sys.executable, "-m", "rayhist.cli", "import", *arguments, "--cluster", "nightly"],
            capture_output=True,
            text=True,
            check=False,
            env=clean_environment() | {"RAYHIST__STORAGE__URL": self.archive.as_uri()},
        )
        assert run.returncode == status, run.stderr
        assert "Traceback" not in run.stderr
        return run

    def marker(self, session: str = SESSION) -> SessionMarker:
        key = layout.key(layout.Marker(Session(CLUSTER, session)))
        return read_marker((self.archive / key).read_bytes(), key)

    def opened(self, session: str = SESSION) -> Index:
        """As the server opens it."""
        path = self.folder / "index"
        path.unlink(missing_ok=True)
        store = LocalStore(self.archive, LocalOptions())
        found = asyncio.run(replay(store, Session(CLUSTER, session), path))
        assert found.damaged == {}
        return Index(path)

    def logs(self, index: Index) -> dict[tuple[str, str], int]:
        rows = list(index.read("SELECT node, path, size, missing FROM log_files"))
        assert all(not missing for *_, missing in rows)
        return {(node, path): size for node, path, size, _ in rows}


@pytest.fixture
def imports(tmp_path: Path) -> Imports:
    return Imports(tmp_path)


@pytest.fixture(scope="module")
def gathered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The logs of a real cluster of several nodes, one folder each, as somebody would gather them."""
    folder = tmp_path_factory.mktemp("gathered")
    for node, path, content in Recording(RAY_2_60).logs():
        file = folder / node / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return folder


def _sizes(folder: Path) -> dict[tuple[str, str], int]:
    found = {}
    for node in folder.iterdir():
        for path in node.rglob("*"):
            if path.is_file():
                found[node.name, path.relative_to(node).as_posix()] = path.stat().st_size
    return found


def test_a_folder_of_real_logs_becomes_a_session_that_the_server_opens(
    imports: Imports, gathered: Path
) -> None:
    run = imports.run(str(gathered))
    assert run.stdout == f"raycluster/default/nightly/{SESSION}\n"
    index = imports.opened()
    assert imports.logs(index) == _sizes(gathered)
    found = report(index)
    assert not found.complete
    assert any("Imported from the folder" in gap for gap in found.gaps)
    assert "There are no events." in found.gaps
    assert {node.node_id for node in found.nodes} == {node.name for node in gathered.iterdir()}
    assert [node.node_id for node in found.nodes if node.role == "head"] == [HEAD]
    assert all(any("imported from log files" in gap for gap in node.gaps) for node in found.nodes)
    jobs = [json.loads(body) for _, body in index.documents("job")]
    assert any(job["submission_id"] == "my-custom_id.1" for job in jobs), "from Ray's export files"
    index.close()
    assert imports.marker().ray_version == "2.60.0"
    assert imports.marker().ending is Ending.IMPORTED
    assert "not there: events" in run.stderr


def test_no_secret_of_a_runtime_environment_is_filed(imports: Imports, gathered: Path) -> None:
    assert any(b"hunter2" in path.read_bytes() for path in gathered.rglob("*.log"))
    imports.run(str(gathered))
    for pack in imports.archive.rglob("*.zip"):
        with zipfile.ZipFile(pack) as opened:
            assert not any(b"hunter2" in opened.read(name) for name in opened.namelist())


def test_doing_it_again_writes_nothing(imports: Imports, gathered: Path) -> None:
    imports.run(str(gathered))
    before = {path: path.stat().st_mtime_ns for path in imports.archive.rglob("*")}
    run = imports.run(str(gathered))
    assert "0 objects written" in run.stderr
    assert {path: path.stat().st_mtime_ns for path in imports.archive.rglob("*")} == before


@pytest.mark.parametrize("suffix", [".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2", ".zip"])
def test_archives_are_as_good_as_folders(
    imports: Imports, gathered: Path, tmp_path: Path, suffix: str
) -> None:
    few = tmp_path / "few"
    for name in ("raylet.out", "gcs_server.out", "monitor.log"):
        (few / HEAD).mkdir(parents=True, exist_ok=True)
        shutil.copy2(gathered / HEAD / name, few / HEAD / name)
    archive = tmp_path / f"logs{suffix}"
    if suffix == ".zip":
        with zipfile.ZipFile(archive, "w") as made:
            for path in few.rglob("*.*"):
                made.write(path, path.relative_to(few))
    else:
        with tarfile.open(
            archive, "w:" + suffix.replace("tgz", "gz").rpartition(".")[2].replace("tar", "")
        ) as made:
            made.add(few, ".")
    imports.run(str(archive))
    index = imports.opened()
    assert imports.logs(index) == _sizes(few)
    index.close()
    assert "the archive logs" in imports.marker().imported


def _hostile_tar(path: Path) -> None:
    with tarfile.open(path, "w") as made:

        def add(name: str, data: bytes = b"x", **fields: Any) -> None:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            for field, value in fields.items():
                setattr(info, field, value)
            made.addfile(info, io.BytesIO(data) if info.isfile() else None)

        add("n/raylet.out", f"started in {SESSION}\n".encode())
        add("../escaped.txt")
        add("n/../../escaped.txt")
        add("/tmp/dropin-escaped.txt")
        add("n/link.log", b"", type=tarfile.SYMTYPE, linkname="/etc/passwd")
        add("n/hard.log", b"", type=tarfile.LNKTYPE, linkname="/etc/passwd")
        add("n/device", b"", type=tarfile.CHRTYPE)
        add("n/fifo", b"", type=tarfile.FIFOTYPE)
        add("n/line\nbreak.log")


def test_a_hostile_tar_writes_nothing_outside_and_reads_nothing_of_ours(
    imports: Imports, tmp_path: Path
) -> None:
    archive = tmp_path / "logs.tar"
    _hostile_tar(archive)
    before = set(tmp_path.rglob("*"))
    run = imports.run(str(archive))
    assert not Path("/tmp/dropin-escaped.txt").exists()
    new = {path for path in set(tmp_path.rglob("*")) - before if path.is_file()}
    assert all(imports.archive in path.parents for path in new)
    index = imports.opened()
    assert {path for _, path in imports.logs(index)} == {"raylet.out"}
    gaps = [gap for node in report(index).nodes for gap in node.gaps]
    index.close()
    for reason in ("a link", "an absolute path", "a device or the like", "leads out of the archive"):
        assert reason in run.stderr
        assert any(reason in gap for gap in gaps), "the session's page says it, too"


def test_a_hostile_zip(imports: Imports, tmp_path: Path) -> None:
    archive = tmp_path / "logs.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("n/raylet.out", f"started in {SESSION}\n")
        made.writestr("../escaped.txt", "x")
        made.writestr("n/..\\..\\escaped.txt", "x")
        link = zipfile.ZipInfo("n/link.log")
        link.external_attr = 0o120777 << 16
        made.writestr(link, "/etc/passwd")
    run = imports.run(str(archive))
    assert "a link" in run.stderr
    assert not (tmp_path / "escaped.txt").exists()


@pytest.mark.parametrize("suffix", [".zip", ".tar.gz", ".tar.xz"])
def test_a_bomb_is_defused(imports: Imports, tmp_path: Path, suffix: str) -> None:
    """A few kilobytes that would become 64 MiB: what is really unpacked counts."""
    archive = tmp_path / f"bomb{suffix}"
    zeros = bytes(64 << 20)
    if suffix == ".zip":
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as made:
            made.writestr("n/raylet.out", zeros)
    else:
        info = tarfile.TarInfo("n/raylet.out")
        info.size = len(zeros)
        with tarfile.open(archive, f"w:{suffix.rpartition('.')[2]}") as made:
            made.addfile(info, io.BytesIO(zeros))
    run = imports.run(str(archive), "--max-bytes", "4MiB", status=2)
    assert "--max-bytes" in run.stderr
    assert not imports.archive.exists() or not any(imports.archive.rglob("*.zip"))


@pytest.mark.parametrize("suffix", [".zip", ".tar.gz", ".tar"])
def test_a_damaged_archive_is_named(imports: Imports, tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"logs{suffix}").write_bytes(b"\x1f\x8bnothing of the kind" * 100)
    assert "cannot be read" in imports.run(str(tmp_path / f"logs{suffix}"), status=2).stderr


def test_a_temp_dir_as_ray_leaves_it(imports: Imports, ray_folder: Any) -> None:
    """Two sessions, a link to the later one, one without a word about its node, and an unreadable file."""
    old = "session_2026-11-29_09-00-00_000001_10"
    ray_folder.session(old, node="aa" * 28)
    logs = ray_folder.session(SESSION, node="")
    (logs / "worker-1.out").write_text("hello\n")
    (ray_folder.root / "rayhist-spool" / "logs").mkdir(parents=True)
    run = imports.run(str(ray_folder.root))
    assert run.stdout.splitlines() == [f"raycluster/default/nightly/{name}" for name in (old, SESSION)]
    index = imports.opened()
    [(node, _)] = {(node, "") for node, _ in imports.logs(index)}
    assert any("one was made up" in gap for gap in report(index).nodes[0].gaps)
    index.close()
    assert imports.opened(old).meta("end")["at_ms"] > 0
    assert len(node) == 56
    again = imports.run(str(ray_folder.root / SESSION), "--node", "bb" * 28)
    assert "bbbbbbbbbbbb" in again.stderr


def test_the_nodes_of_a_cluster_can_come_one_by_one(imports: Imports, gathered: Path, tmp_path: Path) -> None:
    for node in sorted(path.name for path in gathered.iterdir()):
        alone = tmp_path / "alone" / node / node
        shutil.copytree(gathered / node, alone)
        imports.run(str(alone.parent))
    index = imports.opened()
    assert imports.logs(index) == _sizes(gathered)
    index.close()
    assert imports.marker().head_node == HEAD


def test_what_a_collector_recorded_is_left_alone(imports: Imports, gathered: Path) -> None:
    key = layout.key(layout.Marker(Session(CLUSTER, SESSION)))
    (imports.archive / key).parent.mkdir(parents=True)
    (imports.archive / key).write_text('{"ending": "clean"}')
    run = imports.run(str(gathered), status=2)
    assert "a collector has recorded" in run.stderr
    assert [path for path in imports.archive.rglob("*") if path.is_file()] == [imports.archive / key]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda folder: folder / "nowhere", "there is nothing"),
        (lambda folder: folder, "has no logs of Ray"),
        (lambda folder: _file(folder / "logs.rar"), "but a file"),
    ],
)
def test_what_is_no_source_is_named_with_a_remedy(
    imports: Imports, tmp_path: Path, make: Callable[[Path], Path], said: str
) -> None:
    run = imports.run(str(make(tmp_path)), status=2)
    assert said in run.stderr
    assert "remedy: name" in run.stderr


def _file(path: Path) -> Path:
    path.write_bytes(b"x")
    return path


def test_a_session_without_a_name_is_called_after_its_oldest_file(tmp_path: Path) -> None:
    (tmp_path / "raylet.out").write_text("nothing said\n")
    os.utime(tmp_path / "raylet.out", (1_796_052_310, 1_796_052_310))
    [found] = tree.find(tmp_path)
    assert found.session == "session_2026-11-30_15-25-10_000000_0"
    assert any("made up" in remark for remark in found.remarks)
    assert tree.find(tmp_path, session=SESSION)[0].session == SESSION
