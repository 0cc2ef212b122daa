"""The log files of each session go under that session's own node, and nothing keeps the others waiting."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from rayhist.clock import Clock
from rayhist.errors import ConfigError
from rayhist.ids import Cluster
from rayhist.source import SourceContext
from rayhist_collector.sources.log_files import LogFiles, Options
from rayhist_testkit.contracts.source import Log
from rayhist_testkit.intake import RecordingIntake

OLD = "session_2026-11-29_09-00-00_000001_10"
NEW = "session_2026-11-30_15-25-10_490256_10672"


class NodeIntake(RecordingIntake):
    """Knows the nodes of some sessions only."""

    def __init__(self, folder: Path, nodes: dict[str, str]) -> None:
        super().__init__(folder)
        self.nodes = nodes

    def node(self, session: str) -> str:
        return self.nodes.get(session, "")


@pytest.fixture
def intake(tmp_path: Path) -> NodeIntake:
    return NodeIntake(tmp_path, {OLD: "aa" * 28, NEW: "bb" * 28})


def _source(ray_folder: Any, clock: Clock, cluster: Cluster, **options: Any) -> LogFiles:
    state = ray_folder.root.parent / "state"
    state.mkdir(exist_ok=True)
    context = SourceContext(
        cluster=cluster, role="", temp_dir=ray_folder.root, state_dir=state, clock=clock, log=Log()
    )
    return LogFiles(context, Options(**options))


def _sweep(source: LogFiles, intake: NodeIntake) -> None:
    asyncio.run(source.finish(intake))


def test_a_session_that_was_left_on_disk_is_recorded_as_its_own(
    ray_folder: Any, clock: Clock, cluster: Cluster, intake: NodeIntake
) -> None:
    ray_folder.session(OLD)
    ray_folder.session(NEW)
    (ray_folder.root / OLD / "logs" / "raylet.out").write_bytes(b"old\n")
    _sweep(_source(ray_folder, clock, cluster), intake)
    assert intake.logs(OLD)["raylet.out"] == b"old\n"
    assert intake.logs(NEW)["raylet.out"] == b"raylet\n"
    assert [session for session, _ in intake.packs] == [NEW, OLD], "the current one first"


def test_left_over_sessions_can_be_left_alone(
    ray_folder: Any, clock: Clock, cluster: Cluster, intake: NodeIntake
) -> None:
    ray_folder.session(OLD)
    ray_folder.session(NEW)
    _sweep(_source(ray_folder, clock, cluster, leftover_sessions=False), intake)
    assert [session for session, _ in intake.packs] == [NEW]


def test_logs_wait_on_disk_until_the_node_is_known(
    ray_folder: Any, clock: Clock, cluster: Cluster, intake: NodeIntake
) -> None:
    ray_folder.session(NEW)
    source = _source(ray_folder, clock, cluster)
    intake.nodes = {}
    _sweep(source, intake)
    assert intake.packs == []
    intake.nodes = {NEW: "bb" * 28}
    _sweep(source, intake)
    assert intake.logs(NEW) == {"gcs_server.out": b"gcs\n", "raylet.out": b"raylet\n"}


def test_a_restarted_collector_goes_on_where_it_was(
    ray_folder: Any, clock: Clock, cluster: Cluster, intake: NodeIntake
) -> None:
    logs = ray_folder.session(NEW)
    _sweep(_source(ray_folder, clock, cluster), intake)
    with (logs / "raylet.out").open("ab") as file:
        file.write(b"more\n")
    _sweep(_source(ray_folder, clock, cluster), intake)
    assert intake.logs(NEW)["raylet.out"] == b"raylet\nmore\n"
    assert len(intake.packs) == 2


def test_all_files_of_an_interval_go_into_one_pack_and_none_if_nothing_is_new(
    ray_folder: Any, clock: Clock, cluster: Cluster, intake: NodeIntake
) -> None:
    logs = ray_folder.session(NEW)
    for number in range(300):
        (logs / f"worker-{number}.out").write_bytes(b"%d\n" % number)
    source = _source(ray_folder, clock, cluster)
    _sweep(source, intake)
    _sweep(source, intake)
    assert len(intake.packs) == 1
    assert len(intake.logs(NEW)) == 302


def test_more_than_a_pack_holds_follows_at_once(
    ray_folder: Any, clock: Clock, cluster: Cluster, intake: NodeIntake
) -> None:
    logs = ray_folder.session(NEW)
    (logs / "big.log").write_bytes(b"x" * 100_000)
    _sweep(_source(ray_folder, clock, cluster, pack_bytes=30_000, file_bytes=20_000), intake)
    assert len(intake.logs(NEW)["big.log"]) == 100_000
    assert len(intake.packs) == 5


def test_a_file_that_is_rewritten_is_kept_as_it_is_last(
    ray_folder: Any, clock: Clock, cluster: Cluster, intake: NodeIntake
) -> None:
    """The raylet writes `debug_state.txt` anew every ten seconds: no byte range of it means anything."""
    logs = ray_folder.session(NEW)
    source = _source(ray_folder, clock, cluster)
    for state in (b"Node ID: one\n", b"Node ID: two\n"):
        (logs / "debug_state.txt").write_bytes(state)
        _sweep(source, intake)
    assert intake.log_files == {(NEW, "debug_state.txt"): b"Node ID: two\n"}
    assert "debug_state.txt" not in intake.logs(NEW)


def test_a_full_disk_costs_nothing_but_time(
    ray_folder: Any, clock: Clock, cluster: Cluster, intake: NodeIntake
) -> None:
    ray_folder.session(NEW)
    source = _source(ray_folder, clock, cluster)
    intake.full = True
    _sweep(source, intake)
    intake.full = False
    _sweep(source, intake)
    assert intake.logs(NEW)["raylet.out"] == b"raylet\n"


def test_an_unreadable_name_is_counted_once(
    ray_folder: Any, clock: Clock, cluster: Cluster, intake: NodeIntake
) -> None:
    logs = ray_folder.session(NEW)
    (logs / "line\nbreak.log").write_text("x")
    source = _source(ray_folder, clock, cluster)
    _sweep(source, intake)
    _sweep(source, intake)
    assert [(what, count) for what, count, _ in intake.losses] == [("logs/line\nbreak.log", 1)]


def test_a_temp_dir_that_disappears_is_no_error(
    ray_folder: Any, clock: Clock, cluster: Cluster, intake: NodeIntake
) -> None:
    ray_folder.session(NEW)
    source = _source(ray_folder, clock, cluster)
    _sweep(source, intake)
    shutil.rmtree(ray_folder.root)
    _sweep(source, intake)
    assert len(intake.packs) == 1


def test_packs_of_no_bytes_are_refused(ray_folder: Any, clock: Clock, cluster: Cluster) -> None:
    with pytest.raises(ConfigError, match="must not be 0"):
        _source(ray_folder, clock, cluster, pack_bytes=0)
