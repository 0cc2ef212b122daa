"""Every process that was started for a folder is found and ended, and no other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from rayhist.errors import RayhistError
from rayhist_testkit.cluster import processes
from rayhist_testkit.cluster.environment import plain_environment
from rayhist_testkit.cluster.waiting import until

_SLEEP = "import time; time.sleep(600)"
_BLANK_ENVIRONMENT = f"""
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {_SLEEP!r}], env={{"PATH": os.environ["PATH"]}})
print(child.pid, flush=True)
{_SLEEP}
"""
_OWN_SESSION = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {_SLEEP!r}], start_new_session=True)
print(child.pid, flush=True)
"""
_ENDS_LATE = (
    f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); {_SLEEP}"
)


Start = Callable[[Path, str], subprocess.Popen[bytes]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts Python code for a folder below the test's own, with its output in that folder."""
    children = []

    def started(folder: Path, code: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", code]
        output = folder / "output.log"
        child = processes.start(command, folder=folder, environment=plain_environment(), output=output)
        children.append(child)
        return child

    yield started
    processes.kill(tmp_path)
    for child in children:
        child.wait()


def _first_line(folder: Path) -> str:
    output = folder / "output.log"
    return until(lambda: output.read_text().partition("\n")[0], "the process says something", within_s=30)


def _pids(folder: Path) -> set[int]:
    return {process.pid for process in processes.belonging_to(folder)}


def test_a_process_and_those_it_started_are_found(start: Start, tmp_path: Path) -> None:
    child = start(tmp_path, _BLANK_ENVIRONMENT)
    grandchild = int(_first_line(tmp_path))
    assert _pids(tmp_path) == {child.pid, grandchild}


def test_one_that_is_in_a_session_of_its_own_is_found_after_its_parent_ended(
    start: Start, tmp_path: Path
) -> None:
    """As the drivers are that Ray's Job API starts."""
    start(tmp_path, _OWN_SESSION).wait()
    orphan = int(_first_line(tmp_path))
    assert _pids(tmp_path) == {orphan}
    processes.kill(tmp_path)
    assert not psutil.pid_exists(orphan) or psutil.Process(orphan).status() == psutil.STATUS_ZOMBIE


def test_only_those_of_the_folder_are_killed(start: Start, tmp_path: Path) -> None:
    kept = start(tmp_path / "kept", _SLEEP)
    killed = start(tmp_path / "killed", _SLEEP)
    assert processes.kill(tmp_path / "killed") == 1
    assert killed.wait() == -signal.SIGKILL
    assert kept.poll() is None
    assert os.getpid() not in _pids(tmp_path)


def test_a_folder_is_not_taken_for_one_whose_name_begins_alike(start: Start, tmp_path: Path) -> None:
    start(tmp_path / "n10", _SLEEP)
    assert _pids(tmp_path / "n1") == set()


def test_what_does_not_end_when_asked_is_named(start: Start, tmp_path: Path) -> None:
    child = start(tmp_path, _ENDS_LATE)
    _first_line(tmp_path)
    with pytest.raises(RayhistError, match="did not end"):
        processes.terminate([child], within_s=0.1)


def test_waiting_ends_and_says_for_what() -> None:
    with pytest.raises(RayhistError, match="in vain until pigs fly") as caught:
        until(lambda: None, "pigs fly", within_s=0.01, every_s=0.001, remedy="wings")
    assert caught.value.remedy == "wings"
