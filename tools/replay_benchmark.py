"""Measure a replay: `python tools/replay_benchmark.py --tasks 50000`.

Generates a session, lays it out in memory, replays it in one process, and prints processor time per task and
per event, the size of the index, and how long the answers take that a dashboard asks for all the time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from rayhist import summary
from rayhist.index import Index
from rayhist.memory import MemoryStore
from rayhist.query import Filter, Query, run
from rayhist.replay import replay
from rayhist.resources import TASKS
from rayhist_testkit import generator


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=50_000)
    parser.add_argument("--jobs", type=int, default=10)
    parser.add_argument("--nodes", type=int, default=20)
    arguments = parser.parse_args()
    shape = generator.Shape(arguments.tasks, arguments.jobs, arguments.nodes, workers=arguments.nodes * 8)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.sqlite"
        asyncio.run(_replay(shape, path))
        print(f"index: {path.stat().st_size / shape.tasks:.0f} bytes per task")
        _ask(Index(path))


async def _replay(shape: generator.Shape, path: Path) -> None:
    store = MemoryStore()
    session = await generator.lay_out(store, shape, level=1)
    before_mib = _peak_mib()
    begun = time.process_time()
    report = await replay(store, session, path)
    took = (time.process_time() - begun) * 1e6
    print(
        f"replay: {took / shape.tasks:.1f} µs per task, {took / report.events:.2f} µs per event"
        f" ({report.events} events, {report.bad_events} bad);"
        f" {_peak_mib() - before_mib:.0f} MiB more than the archive itself"
    )
    print(f"for comparison: json.loads alone takes {_json_us(shape):.1f} µs per task here and now")


def _json_us(shape: generator.Shape) -> float:
    """What to divide by, when figures of two machines, or of a busy one, are to be compared."""
    lines = [line.data for line in generator.events(msgspec.structs.replace(shape, tasks=2000))]
    begun = time.process_time()
    for line in lines:
        json.loads(line)
    return (time.process_time() - begun) * 1e6 / 2000


def _ask(index: Index) -> None:
    job = (Filter("job_id", "=", "01000000"),)
    questions: dict[str, Callable[[], object]] = {
        "a job's summary": lambda: summary.tasks_by_func_name(index, job),
        "all jobs' summary": lambda: summary.tasks_by_func_name(index),
        "a job's lineage": lambda: summary.tasks_by_lineage(index, job),
        "10,000 rows of a job": lambda: run(index, TASKS, Query(job, limit=10_000, detail=True)),
        "one task": lambda: run(index, TASKS, Query((Filter("task_id", "=", "00" * 24),), limit=1)),
    }
    for name, ask in questions.items():
        begun = time.process_time()
        ask()
        print(f"{name}: {(time.process_time() - begun) * 1e3:.1f} ms")


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
