"""Globs mean what Python's own do, categories are Ray's, and only what was recorded can be listed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayhist.index import Index, IndexWriter
from rayhist.logs import LogError, list_files
from rayhist.logs.globs import matching
from rayhist.logs.listing import categorized
from rayhist.resources import NODES
from rayhist_testkit.logs import NODE, LogArchive

PATHS = [
    "raylet.out",
    "raylet.out.1",
    "old/raylet.err",
    "events/event_GCS.log",
    "serve/app/replica.log",
    "serve/x[1].log",
    ".hidden",
    "train/empty/",
]
GONE = "0c" * 28


@pytest.mark.parametrize(
    ("glob", "found"),
    [
        ("*", [".hidden", "events/", "old/", "raylet.out", "raylet.out.1", "serve/", "train/"]),
        ("raylet.*", ["raylet.out", "raylet.out.1"]),
        ("RAYLET*", []),
        ("*/*", ["events/event_GCS.log", "old/raylet.err", "serve/app/", "serve/x[1].log", "train/empty/"]),
        ("train/empty/*", []),
        ("serve/*", ["serve/app/", "serve/x[1].log"]),
        ("serve/", ["serve/"]),
        ("./serve//app/*", ["serve/app/replica.log"]),
        ("**", ["./", "events/", "old/", "serve/", "serve/app/", "train/", "train/empty/"]),
        ("**/*.log", ["events/event_GCS.log", "serve/app/replica.log", "serve/x[1].log"]),
        ("**/app/**/*", ["serve/app/replica.log"]),
        ("**/**/app/**/**/*", ["serve/app/replica.log"]),
        ("serve/x[[]1].log", ["serve/x[1].log"]),
        ("raylet.out/*", []),
    ],
)
def test_a_glob_finds_files_and_folders(glob: str, found: list[str]) -> None:
    assert matching(PATHS, glob) == found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("logs")
    for path in PATHS:
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).mkdir() if path.endswith("/") else (top / path).touch()
    return top


@given(
    parts=st.lists(
        st.text(alphabet="*?[]aeorlyt.-!1", min_size=1, max_size=6).filter(
            lambda part: "**" not in part and part not in {".", ".."}
        ),
        min_size=1,
        max_size=3,
    )
)
def test_a_glob_finds_what_python_finds(folder: Path, parts: list[str]) -> None:
    """`**` is left out, since Python 3.13 changed it."""
    glob = "/".join(parts)
    there = [(path.relative_to(folder).as_posix(), path.is_dir()) for path in folder.glob(glob)]
    assert matching(PATHS, glob) == sorted(name + "/" * is_folder for name, is_folder in there)


def test_a_glob_made_to_take_for_ever_does_not() -> None:
    path = "/".join(["a"] * 300)
    assert matching([path], "**/a/" * 200 + "b") == []
    assert matching([path], "**/" * 300 + "b") == []
    assert matching(["a" * 255], "*a" * 100 + "b") == []


@pytest.mark.parametrize(
    ("path", "category"),
    [
        ("worker-ab-01000000-1.out", "worker_out"),
        ("worker-ab-01000000-1.err", "worker_err"),
        ("python-core-worker-ab_1.log", "core_worker"),
        ("python-core-driver-01_1.log", "driver"),
        ("raylet.out.3", "raylet"),
        ("gcs_server.err", "gcs_server"),
        ("log_monitor.err", "internal"),
        ("monitor.log", "autoscaler"),
        ("runtime_env_agent.log", "agent"),
        ("dashboard.log", "dashboard"),
        ("dashboard_NodeHead.log", "internal"),
        ("job-driver-raysubmit_x.log", "internal"),
        ("serve/", "internal"),
    ],
)
def test_categories_are_rays(path: str, category: str) -> None:
    assert categorized([path]) == {category: [path]}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """Two nodes that had one address one after the other; of a third there are no logs."""
    archive = LogArchive()
    path = tmp_path_factory.mktemp("index") / "index.sqlite"
    writer = IndexWriter(path)

    async def build() -> None:
        await archive.file("raylet.out", b"old\n", node="0b" * 28)
        await archive.file("raylet.err", b"new\n")
        await archive.index(writer)

    asyncio.run(build())
    rows = [
        {"node_id": "0b" * 28, "node_ip": "10.0.0.1", "state": "DEAD", "start_time_ms": 1},
        {"node_id": NODE, "node_ip": "10.0.0.1", "state": "DEAD", "start_time_ms": 2},
        {"node_id": GONE, "node_ip": "10.0.0.2", "state": "ALIVE", "start_time_ms": None},
    ]
    writer.rows(NODES, rows)
    writer.finish()
    index = Index(path)
    yield index
    index.close()


def test_a_node_is_found_by_id_in_any_case_and_by_its_address(index: Index) -> None:
    """Of two nodes that had the address, the later one."""
    expected = {"raylet": ["raylet.err"]}
    assert list_files(index, node_id=NODE) == expected
    assert list_files(index, node_id=NODE.upper()) == expected
    assert list_files(index, node_ip="10.0.0.1") == expected


@pytest.mark.parametrize(
    ("asked", "status", "text"),
    [
        ({}, 400, "Both node id and node ip are not provided. Please provide at least one of them."),
        ({"node_ip": "10.9.9.9"}, 404, "Cannot find matching node_id for a given node ip 10.9.9.9"),
        ({"node_id": "ff" * 28}, 500, f"Agent for node id: {'ff' * 28} doesn't exist."),
        ({"node_id": GONE}, 404, f"No logs of node {GONE} were recorded."),
        ({"node_id": "../etc"}, 400, "no node id (56 hex digits): '../etc'"),
        ({"node_ip": "1\n2"}, 404, "Cannot find matching node_id for a given node ip '1\\n2'"),
    ],
)
def test_a_node_that_cannot_be_listed_is_an_error_with_a_reason(
    index: Index, asked: dict[str, str], status: int, text: str
) -> None:
    with pytest.raises(LogError) as caught:
        list_files(index, **asked)
    assert (caught.value.status, str(caught.value)) == (status, text)


@pytest.mark.parametrize("glob", ["../*", "a/../../*", "/etc/*", "", ".", "a\0b", "*" * 5000])
def test_a_glob_that_leaves_the_folder_is_refused(index: Index, glob: str) -> None:
    with pytest.raises(LogError, match=r"Invalid glob filter: .* It must be a relative path") as caught:
        list_files(index, node_id=NODE, glob=glob)
    assert caught.value.status == 400
