"""One node: where it lives, and the command lines that start it."""

from __future__ import annotations

import sysconfig
from dataclasses import dataclass
from pathlib import Path

from rayhist_testkit.ports import free_ports

_OBJECT_STORE_BYTES = 100_000_000
_REWRITTEN = "debug_state"
"""Begins the names of the files that Ray writes anew each time."""


@dataclass(frozen=True, slots=True)
class Head:
    """The ports of what only the head runs."""

    gcs_port: int
    dashboard_port: int
    client_port: int

    @property
    def address(self) -> str:
        """Where nodes and drivers join the cluster."""
        return f"{self.host}:{self.gcs_port}"

    @property
    def host(self) -> str:
        return _address(0)

    @property
    def dashboard(self) -> str:
        """The live dashboard's URL."""
        return f"http://{self.host}:{self.dashboard_port}"

    @classmethod
    def on_free_ports(cls) -> Head:
        return cls(*free_ports(3))


@dataclass(frozen=True, slots=True)
class Node:
    """Node number `index` (0 is the head): its loopback address, its folder and its ports.

    The folder's path is short, as Ray puts unix sockets below it, whose paths end at 107 bytes.
    """

    index: int
    folder: Path
    events_port: int
    agent_port: int
    metrics_port: int

    @classmethod
    def below(cls, root: Path, index: int) -> Node:
        return cls(index, root / f"n{index}", *free_ports(3))

    @property
    def role(self) -> str:
        return "worker" if self.index else "head"

    @property
    def temp_dir(self) -> Path:
        """Ray's `--temp-dir`: its own, as on real pods, since nodes that share one delete shared files."""
        return self.folder / "ray"

    @property
    def spool(self) -> Path:
        return self.folder / "spool"

    @property
    def address(self) -> str:
        return _address(self.index)

    def log_sizes(self) -> dict[str, int]:
        """Bytes of each file below `logs/` that Ray appends to, by path; empty ones are left out."""
        logs = (self.temp_dir / "session_latest" / "logs").resolve()
        files = [path for path in logs.rglob("*") if path.is_file() and not path.is_symlink()]
        sizes = {path.relative_to(logs).as_posix(): path.stat().st_size for path in files}
        return {path: size for path, size in sizes.items() if size and not path.startswith(_REWRITTEN)}

    def ray_start(self, head: Head, cpus: int) -> list[str | Path]:
        """The command that runs the node in the foreground."""
        ray = Path(sysconfig.get_path("scripts")) / "ray"
        return [
            *(ray, "start", "--block", "--disable-usage-stats"),
            *(_worker_options(head) if self.index else _head_options(head)),
            *("--node-ip-address", self.address),
            *("--temp-dir", self.temp_dir),
            *("--num-cpus", str(cpus)),
            *("--object-store-memory", str(_OBJECT_STORE_BYTES)),
            *("--dashboard-agent-listen-port", str(self.agent_port)),
            *("--metrics-export-port", str(self.metrics_port)),
            *("--min-worker-port", "0", "--max-worker-port", "0"),
        ]


def _address(index: int) -> str:
    # Never 127.0.0.1: Ray takes the machine's outer address instead of that one.
    return f"127.0.0.{index + 2}"


def _head_options(head: Head) -> list[str]:
    return [
        *("--head", "--port", str(head.gcs_port)),
        *("--dashboard-host", head.host, "--dashboard-port", str(head.dashboard_port)),
        *("--ray-client-server-port", str(head.client_port)),
    ]


def _worker_options(head: Head) -> list[str]:
    return ["--address", head.address]
