"""What the workload is known to have made; both the live and the replayed dashboard must say the same."""

from __future__ import annotations

from pathlib import Path

import msgspec


class Task(msgspec.Struct):
    """A task: its id, the name the dashboard shows, and the state of each of its attempts."""

    id: str
    name: str
    states: list[str]
    error_type: str | None = None
    """Of the last attempt."""


class Actor(msgspec.Struct):
    """An actor as it was last seen; `death` is a part of what the dashboard says of its end."""

    id: str
    class_name: str
    state: str
    name: str = ""
    restarts: int = 0
    death: str = ""


class Job(msgspec.Struct):
    """A job: its submission id or, for a driver that was not submitted, its job id."""

    id: str
    status: str
    type: str = "SUBMISSION"
    message: str = ""
    """A part of the status message."""


class Group(msgspec.Struct):
    """A placement group."""

    id: str
    name: str
    state: str


class Dataset(msgspec.Struct):
    """A Ray Data dataset: the job that made it, and its state."""

    job: str
    state: str


class Log(msgspec.Struct):
    """Log bytes: the parameters of `api/v0/logs/file`, and what the answer must be or must contain."""

    query: dict[str, str]
    whole: bytes | None = None
    lines: list[bytes] = []


class Ledger(msgspec.Struct):
    """Everything, by label; ids are those of one run."""

    nodes: int = 0
    driver_job: str = ""
    """Job id of the workload's own driver."""
    jobs: dict[str, Job] = {}
    tasks: dict[str, Task] = {}
    task_counts: dict[str, int] = {}
    """Attempts by state of the workload's own job."""
    actors: dict[str, Actor] = {}
    groups: dict[str, Group] = {}
    logs: dict[str, Log] = {}
    applications: dict[str, str] = {}
    """Status by the name of the Ray Serve application."""
    datasets: dict[str, Dataset] = {}
    """By the dataset's name."""
    train_runs: dict[str, str] = {}
    """Status by the name of the Ray Train run."""

    def write(self, path: Path) -> None:
        """Write it as JSON, the whole file or nothing."""
        partial = path.with_suffix(".partial")
        partial.write_bytes(msgspec.json.format(msgspec.json.encode(self)))
        partial.replace(path)


def read(path: Path) -> Ledger:
    return msgspec.json.decode(path.read_bytes(), type=Ledger)
