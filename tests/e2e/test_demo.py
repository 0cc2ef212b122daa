"""The recorded cluster, long dead, answers what its workload is known to have made."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from rayhist_testkit.cluster import processes
from rayhist_testkit.cluster.dashboard import Dashboard
from rayhist_testkit.cluster.server import HistoryServer
from rayhist_testkit.demo.check import mismatches
from rayhist_testkit.demo.ending import after_the_end
from rayhist_testkit.demo.figures import figures
from rayhist_testkit.demo.record import Recording

pytestmark = [pytest.mark.services, pytest.mark.timeout(600)]


def test_the_replay_says_what_the_ledger_says(dead: Dashboard, recording: Recording) -> None:
    assert mismatches(dead, after_the_end(recording.ledger)) == []


def test_a_wrong_replay_would_be_noticed(dead: Dashboard, recording: Recording) -> None:
    """Each part of the ledger is really compared."""
    wrong = after_the_end(recording.ledger)
    wrong.nodes += 1
    wrong.jobs = {**wrong.jobs, "none": wrong.jobs["stopped"].__class__("none", "SUCCEEDED")}
    wrong.task_counts = {**wrong.task_counts, "FINISHED": wrong.task_counts["FINISHED"] + 1}
    found = mismatches(dead, wrong)
    for what in ("nodes: all", "jobs: count", "job none", "task attempts: FINISHED"):
        assert any(line.startswith(what) for line in found), found


def test_the_figures_are_those_of_the_recording(dead: Dashboard, recording: Recording) -> None:
    line = figures(dead, 0)
    assert line.startswith(f"demo: {recording.ledger.nodes} nodes, {len(recording.ledger.jobs)} jobs, ")
    assert line.endswith(" 0 mismatches")


def test_the_session_is_listed_as_lost_with_its_address(server: HistoryServer, recording: Recording) -> None:
    [listed] = server.root.json("api/v1/sessions")["sessions"]
    assert listed["session"] == recording.session.name
    assert (listed["kind"], listed["namespace"], listed["cluster"]) == ("raycluster", "research", "nightly")
    assert server.root.raw(listed["path"].lstrip("/")).startswith(b"<!doctype html>")


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder for temporary files with a path as short as Ray needs it."""
    with tempfile.TemporaryDirectory(prefix="e2e-", dir="/tmp") as folder:
        yield Path(folder)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_the_demo_can_be_ended_at_any_time_and_leaves_nothing(sent: int, short_folder: Path) -> None:
    """In the middle of the start: every process and every file is gone."""
    command = [sys.executable, "-m", "rayhist.cli", "demo", "--check"]
    environment = {**os.environ, "TMPDIR": str(short_folder)}
    demo = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    assert demo.stderr is not None
    next(line for line in iter(demo.stderr.readline, "") if "starting Ray" in line)
    assert processes.belonging_to(short_folder)
    demo.send_signal(sent)
    demo.communicate(timeout=90)
    assert demo.returncode == 130
    assert processes.belonging_to(short_folder) == []
    assert list(short_folder.iterdir()) == []
