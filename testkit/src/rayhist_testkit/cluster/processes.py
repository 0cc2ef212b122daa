"""Starting processes, and finding and ending every process that descends from them; never any other.

A process is ours if the mark in its environment says so, or if it is in the process session of one that is.
The second is needed since Ray's workers overwrite their environment's memory when they set their title, and
the first since the Job API puts its drivers into sessions of their own.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import psutil

from rayhist.errors import RayhistError
from rayhist_testkit.cluster.waiting import until

MARK = "RAYHIST_TESTKIT_FOLDER"
_KILL_WITHIN_S = 20


def start(
    command: Sequence[str | Path], *, folder: Path, environment: Mapping[str, str], output: Path
) -> subprocess.Popen[bytes]:
    """Start a process that belongs to `folder`, in a session of its own, writing to the file `output`.

    A Ctrl-C on the terminal does not reach it: who started it ends it.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("ab") as stream:
        return subprocess.Popen(  # noqa: S603 - the commands are this package's own
            [os.fspath(part) for part in command],
            env={**environment, MARK: str(folder)},
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def belonging_to(folder: Path) -> list[psutil.Process]:
    """Every running process that was started for `folder` or one below it, or by such a process."""
    marked = {process: session for process, session in _sessions() if _is_marked(process, folder)}
    sessions = set(marked.values())
    return [process for process, session in _sessions() if process in marked or session in sessions]


def kill(folder: Path, *, first: Iterable[subprocess.Popen[bytes]] = ()) -> int:
    """SIGKILL every process that belongs to `folder`; returns how many there were.

    Those of `first` go first.  Raises `RayhistError` if one survives.
    """
    for child in first:
        child.kill()
    killed = set()
    while found := [process for process in belonging_to(folder) if process not in killed]:
        for process in found:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        killed.update(found)
    until(lambda: not _alive(killed), f"the processes of {folder} are gone", within_s=_KILL_WITHIN_S)
    return len(killed)


def terminate(children: Iterable[subprocess.Popen[bytes]], *, within_s: float) -> None:
    """SIGTERM the children at once, and wait until they ended.  Raises `RayhistError` if one does not."""
    waiting = list(children)
    for child in waiting:
        child.terminate()
    for child in waiting:
        try:
            child.wait(within_s)
        except subprocess.TimeoutExpired as error:
            raise RayhistError(f"{child.args!r} did not end within {within_s:g} s of SIGTERM") from error


def _sessions() -> Iterable[tuple[psutil.Process, int]]:
    for process in psutil.process_iter():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            yield process, os.getsid(process.pid)


def _is_marked(process: psutil.Process, folder: Path) -> bool:
    try:
        mark = process.environ().get(MARK, "")
    except (psutil.Error, OSError):  # gone, or another user's
        return False
    return bool(mark) and Path(mark).is_relative_to(folder)


def _alive(processes: Iterable[psutil.Process]) -> bool:
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                return True
    return False
