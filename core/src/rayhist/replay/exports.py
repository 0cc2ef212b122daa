"""Ray's export files, `logs/export_events/`: submission jobs and Ray Data, written at each change.

Ray writes them with `RAY_enable_export_api_write=1`, or `…_config=EXPORT_SUBMISSION_JOB,…`.  They are log
files with one JSON object per line; what cannot be read costs that line.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from typing import Any

import msgspec

from rayhist import codec
from rayhist.index import LogTables
from rayhist.replay.logs import read_small
from rayhist.storage import Store

WANTED = re.compile(r"export_events/event_EXPORT_(SUBMISSION_JOB|DATASET_METADATA)\.log(\.\d+)?\Z")
"""Paths below `logs/`; Ray rotates the files."""


class Job(msgspec.Struct):
    """`ExportSubmissionJobEventData` of Ray 2.60; int64 is text there."""

    submission_job_id: str
    status: str = ""
    entrypoint: str = ""
    message: str | None = None
    error_type: str | None = None
    start_time: int | None = None
    end_time: int | None = None
    metadata: dict[str, str] = {}
    runtime_env_json: str = ""
    driver_agent_http_address: str | None = None
    driver_node_id: str | None = None
    driver_exit_code: int | None = None


class Operator(msgspec.Struct):
    id: str = ""
    name: str = ""
    state: str = ""


class Topology(msgspec.Struct, frozen=True):
    operators: list[Operator] = []


class Dataset(msgspec.Struct):
    """`ExportDatasetMetadata` of Ray 2.60; times are seconds."""

    dataset_id: str
    job_id: str = ""
    state: str = ""
    topology: Topology = Topology()
    start_time: float = 0
    execution_start_time: float = 0
    execution_end_time: float = 0


class JobLine(msgspec.Struct, frozen=True):
    at_s: int
    job: Job


class DatasetLine(msgspec.Struct, frozen=True):
    at_s: int
    dataset: Dataset


class Exports(msgspec.Struct):
    """What the export files of a session said, in any order."""

    jobs: list[JobLine] = []
    datasets: list[DatasetLine] = []

    def add(self, path: str, data: bytes) -> str:
        """Take a file's lines; returns what is wrong with it, or nothing."""
        damage = codec.Damage()
        for line in codec.decode(data, damage):
            try:
                self._line(path, msgspec.json.decode(line, type=_Line, strict=False))
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                damage.note(str(error))
        return damage.reason

    def _line(self, path: str, line: _Line) -> None:
        if "SUBMISSION_JOB" in path:
            job = msgspec.convert(line.event_data, Job, strict=False)
            self.jobs.append(JobLine(line.timestamp, job))
        else:
            dataset = msgspec.convert(line.event_data, Dataset, strict=False)
            self.datasets.append(DatasetLine(line.timestamp, dataset))


class _Line(msgspec.Struct):
    event_data: dict[str, Any]
    timestamp: int = 0


async def read(store: Store, tables: LogTables, problems: list[str]) -> Exports:
    """Read the export files of all nodes; `problems` gets a sentence for each that is damaged.

    Raises `Unavailable` or `Denied` as the store does.
    """
    found = Exports()
    async with contextlib.aclosing(read_small(store, tables, WANTED, problems)) as files:
        async for one, data in files:
            if wrong := await asyncio.to_thread(found.add, one.path, data):
                problems.append(f"{one.path} of node {one.node} could be read in part only: {wrong}.")
    return found
