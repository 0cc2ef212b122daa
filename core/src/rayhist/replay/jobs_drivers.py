"""Drivers, as events tell of them, and the jobs that the dashboard makes of them."""

from __future__ import annotations

from typing import Any

import msgspec

from rayhist.events import DriverJobDefinition, StateTransition
from rayhist.ids import IdKind, hex_from_base64
from rayhist.replay.jobs_submissions import RUNNING, runtime_env
from rayhist.replay.merging import Definitions, Transitions
from rayhist.resources import JOBS

_SUBMISSION_KEY = "job_submission_id"
"""In a driver's metadata: `JOB_ID_METADATA_KEY` of Ray."""


class Driver(msgspec.Struct):
    """One driver; times are epoch milliseconds, 0 while unknown."""

    job_id: str
    pid: int = 0
    node_id: str = ""
    entrypoint: str = ""
    metadata: dict[str, str] = {}
    serialized_runtime_env: str = ""
    start_ms: int = 0
    end_ms: int = 0

    @property
    def submission_id(self) -> str:
        """The submission whose entrypoint started it; empty for a driver that was started by hand."""
        return self.metadata.get(_SUBMISSION_KEY, "")

    def info(self, node_ip: str) -> dict[str, str]:
        return {"id": self.job_id, "node_ip_address": node_ip, "pid": str(self.pid)}

    def job(self, node_ip: str) -> dict[str, Any]:
        """The job of type DRIVER; Ray calls every one that ended SUCCEEDED, even one that was killed."""
        return dict.fromkeys(JOBS.columns) | {
            "type": "DRIVER",
            "job_id": self.job_id,
            "driver_info": self.info(node_ip),
            "status": "SUCCEEDED" if self.end_ms else RUNNING,
            "entrypoint": self.entrypoint,
            "start_time": self.start_ms,
            "end_time": self.end_ms,
            "metadata": self.metadata,
            "runtime_env": runtime_env(self.serialized_runtime_env),
        }


class DriverEvents:
    """What events said about one driver."""

    __slots__ = ("definitions", "transitions")

    def __init__(self) -> None:
        self.definitions: Definitions[DriverJobDefinition] = Definitions()
        self.transitions: Transitions[StateTransition] = Transitions()

    def driver(self, job_id: str) -> Driver:
        driver = Driver(job_id)
        created, finished = self.transitions.last("CREATED"), self.transitions.last("FINISHED")
        driver.start_ms = created[0] if created else self.definitions.first_ms
        driver.end_ms = finished[0] if finished else 0
        if (said := self.definitions.merged()) is not None:
            driver.pid = said.driver_pid
            driver.node_id = hex_from_base64(IdKind.NODE, said.driver_node_id)
            driver.entrypoint = said.entrypoint
            if said.config is not None:
                driver.metadata = said.config.metadata
                driver.serialized_runtime_env = said.config.serialized_runtime_env
        return driver
