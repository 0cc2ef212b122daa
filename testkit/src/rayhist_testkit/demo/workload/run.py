"""What the sections share: the ledger, and what has to stay alive until the cluster is killed."""

from __future__ import annotations

import collections
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayError

from rayhist.errors import RayhistError
from rayhist_testkit.cluster.waiting import until
from rayhist_testkit.demo.ledger import Ledger, Task

PATIENCE_S = 180


@dataclass(slots=True)
class Run:
    """One run of the workload."""

    dashboard: str
    """The live dashboard's address."""
    folder: Path
    """For files that tasks and jobs leave for one another."""
    ledger: Ledger = field(default_factory=Ledger)
    kept: list[Any] = field(default_factory=list)
    """References and handles that must not go out of scope."""

    def task(
        self, label: str, ref: ray.ObjectRef[Any], name: str, *states: str, error_type: str | None = None
    ) -> None:
        """Enter a task with the state of each of its attempts."""
        self.ledger.tasks[label] = Task(ref.task_id().hex(), name, list(states), error_type)
        self.count(*states)

    def count(self, *states: str) -> None:
        """Enter attempts that have no label."""
        counts = collections.Counter(self.ledger.task_counts)
        counts.update(states)
        self.ledger.task_counts = dict(counts)


Finish = Callable[[], object]
"""Sections begin their work at once and hand back what waits for its end, so that they overlap."""

Section = Callable[[Run], Finish]


@contextmanager
def expected_failure() -> Iterator[None]:
    """For what fails on purpose.  Raises `RayhistError` if it does not, or not in time."""
    try:
        yield
    except GetTimeoutError as error:
        raise RayhistError("the workload waited in vain for a failure it provoked") from error
    except RayError:
        return
    raise RayhistError("the workload did not fail where it should")


def touch(path: str) -> None:
    """Leave a file that says a task is running."""
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY))


def until_exists(path: Path) -> None:
    until(path.exists, f"{path.name} is written by a task", within_s=PATIENCE_S, every_s=0.1)
