"""A live dashboard of a real Ray, without any collector, is imported once and opens as a session."""

from __future__ import annotations

import asyncio
import gzip
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rayhist import catalog
from rayhist.completeness import report
from rayhist.index import Index
from rayhist.local import LocalStore
from rayhist.local import Options as LocalOptions
from rayhist.query import Query, run
from rayhist.replay import replay
from rayhist.resources import ACTORS, NODES, TASKS, Resource
from rayhist_testkit.cluster.cluster import RayCluster
from rayhist_testkit.cluster.settings import ClusterSettings

pytestmark = [pytest.mark.services, pytest.mark.timeout(300)]

SECRET = "hunter2-very-secret"
_DRIVER = f"""
import ray, time
ray.init(namespace="live")
@ray.remote(runtime_env={{"env_vars": {{"API_TOKEN": "{SECRET}", "PLAIN": "1"}}}})
def square(x):
    print("squaring", x)
    return x * x
@ray.remote
class Keeper:
    def get(self):
        return 1
assert ray.get([square.remote(n) for n in range(5)]) == [0, 1, 4, 9, 16]
keeper = Keeper.options(name="keeper", lifetime="detached").remote()
ray.get(keeper.get.remote())
time.sleep(3)  # until the last states have been reported
"""


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """The archive, and what two imports said."""
    folder = tmp_path_factory.mktemp("import")
    said = []
    with RayCluster(ClusterSettings(workers=0, cpus=2)) as cluster:
        (folder / "driver.py").write_text(_DRIVER)
        driver = cluster.run([sys.executable, folder / "driver.py"], folder / "driver.log")
        assert driver.wait(timeout=120) == 0, (folder / "driver.log").read_text()
        for _ in range(2):
            command = [
                sys.executable,
                "-m",
                "rayhist.cli",
                "import",
                cluster.head.dashboard,
                "--cluster",
                "live",
            ]
            archive = (folder / "archive").as_uri()
            ran = subprocess.run(
                command,
                env=os.environ | {"RAYHIST__STORAGE__URL": archive},
                capture_output=True,
                text=True,
                check=False,
                timeout=120,
            )
            assert ran.returncode == 0, ran.stderr
            said.append(ran.stderr)
    return folder / "archive", said


def _rows(index: Index, resource: Resource) -> list[dict[str, Any]]:
    return [msgspec.json.decode(row) for row in run(index, resource, Query(limit=10_000, detail=True)).rows]


def test_it_opens_with_tasks_actors_nodes_and_logs(imported: tuple[Path, list[str]], tmp_path: Path) -> None:
    archive, said = imported
    store = LocalStore(archive, LocalOptions())
    [listed] = asyncio.run(catalog.sessions(store))
    assert (listed.state, listed.session.cluster.name) == (catalog.State.ENDED, "live")
    assert listed.marker.ray_version.startswith("2.")
    assert asyncio.run(replay(store, listed.session, tmp_path / "index")).damaged == {}
    index = Index(tmp_path / "index")
    squares = [row for row in _rows(index, TASKS) if row["name"] == "square"]
    assert [row["state"] for row in squares] == ["FINISHED"] * 5
    assert any(row["name"] == "keeper" for row in _rows(index, ACTORS))
    [node] = _rows(index, NODES)
    assert (node["state"], node["is_head_node"]) == ("ALIVE", True)
    paths = {path for _, path in index.read("SELECT node, path FROM log_files")}
    assert {"raylet.out", "gcs_server.out", "events/event_GCS.log"} <= paths
    found = report(index)
    assert any("Imported once from a live dashboard" in gap for gap in found.gaps)
    assert "goes on" not in found.verdict
    index.close()
    assert "task attempts, 1 nodes that are alive" in said[0]


def test_no_secret_is_filed_and_the_frontend_is(imported: tuple[Path, list[str]]) -> None:
    archive, _ = imported
    for path in archive.rglob("*"):
        if path.suffix == ".gz":
            assert SECRET.encode() not in gzip.decompress(path.read_bytes()), path
        elif path.suffix == ".zip":
            with zipfile.ZipFile(path) as pack:
                for name in pack.namelist():
                    assert SECRET.encode() not in pack.read(name), (path, name)
        elif path.is_file():
            assert SECRET.encode() not in path.read_bytes(), path
    assert list((archive / "frontends").rglob("index.html"))
