"""Starting, losing and clearing away the cluster."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

from rayhist.errors import RayhistError
from rayhist_testkit.cluster import processes
from rayhist_testkit.cluster.collector import collect, configure, ray_environment
from rayhist_testkit.cluster.dashboard import Dashboard
from rayhist_testkit.cluster.environment import plain_environment
from rayhist_testkit.cluster.node import Head, Node
from rayhist_testkit.cluster.settings import ClusterSettings
from rayhist_testkit.cluster.waiting import until

_READY_WITHIN_S = 240
_STOP_WITHIN_S = 60
_LONGEST_TEMP_DIR = 20
"""Bytes of the system's temp dir that still leave room for Ray's sockets below it."""


class RayCluster:
    """A cluster that lives as long as the `with` block; what it leaves behind is the archive alone.

    `say` is told what is being done.  Logs of Ray's and the collectors' start-up are `*.log` in each node's
    folder below `root`, which is removed at the end.
    """

    def __init__(self, settings: ClusterSettings, say: Callable[[str], None] = lambda _: None) -> None:
        self.settings = settings
        self._say = say
        self.root = Path(tempfile.mkdtemp(prefix="rh-", dir=_short_temp_dir()))
        self.head = Head.on_free_ports()
        self.nodes = [Node.below(self.root, index) for index in range(settings.workers + 1)]
        self._ray: dict[int, subprocess.Popen[bytes]] = {}
        self._collectors: dict[int, subprocess.Popen[bytes]] = {}
        self._children: list[subprocess.Popen[bytes]] = []
        self._environments: dict[int, dict[str, str]] = {}

    @property
    def address(self) -> str:
        """What a driver connects to."""
        return self.head.address

    @property
    def dashboard(self) -> Dashboard:
        return Dashboard(self.head.dashboard)

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._clear_away()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._clear_away()

    def kill_without_warning(self) -> int:
        """SIGKILL everything, the collectors first, so that none of them sees the end; returns how many."""
        return processes.kill(self.root, first=self._collectors.values())

    def kill_node(self, index: int) -> int:
        """SIGKILL everything of one node, its collector included; returns how many processes."""
        self._ray.pop(index)
        collector = self._collectors.pop(index, None)
        return processes.kill(self.nodes[index].folder, first=[collector] if collector else [])

    def stop_cleanly(self) -> None:
        """SIGTERM Ray and the collectors of all nodes at once, as Kubernetes does, and wait for their end."""
        running = [*self._ray.values(), *self._collectors.values()]
        processes.terminate([child for child in running if child.poll() is None], within_s=_STOP_WITHIN_S)

    def run(self, command: list[str | Path], output: Path) -> subprocess.Popen[bytes]:
        """Start a driver beside the head; it finds the cluster by `$RAY_ADDRESS`, and ends with it."""
        environment = {**self._environments[0], "RAY_ADDRESS": self.head.address}
        return self._spawn(command, self.root / "driver", environment, output)

    def log_sizes(self) -> dict[str, dict[str, int]]:
        """Bytes of each running node's log files that have any, by its address and the path below `logs/`."""
        return {node.address: node.log_sizes() for node in self.nodes if node.index in self._ray}

    def _start(self) -> None:
        if self.settings.storage_url:
            self._say(f"starting {len(self.nodes)} collectors")
        for node in self.nodes:
            self._start_collector(node)
        self._say(f"starting Ray: a head and {self.settings.workers} workers")
        self._start_ray(self.nodes[0])
        # Before the head is registered, a worker node that joins gives up.
        self._until(lambda: _has_started(self.nodes[0]), "Ray's head has started")
        for node in self.nodes[1:]:
            self._start_ray(node)
        self._until(self._all_alive, f"{len(self.nodes)} nodes are alive")

    def _start_collector(self, node: Node) -> None:
        """Start the node's collector, if there is to be one, and set the node's environment as it asks."""
        environment = {**plain_environment(), **self.settings.ray_environment}
        if self.settings.storage_url:
            file = configure(node, self.head, self.settings)
            self._collectors[node.index] = self._spawn(
                collect(file), node.folder, plain_environment(), node.folder / "collector.log"
            )
            environment |= ray_environment(file)
        self._environments[node.index] = environment

    def _start_ray(self, node: Node) -> None:
        command = node.ray_start(self.head, self.settings.cpus)
        self._ray[node.index] = self._spawn(
            command, node.folder, self._environments[node.index], node.folder / "ray.log"
        )

    def _spawn(
        self, command: Sequence[str | Path], folder: Path, environment: Mapping[str, str], output: Path
    ) -> subprocess.Popen[bytes]:
        child = processes.start(command, folder=folder, environment=environment, output=output)
        self._children.append(child)
        return child

    def _all_alive(self) -> bool:
        if not self.dashboard.answers("api/version"):
            return False
        nodes = self.dashboard.json("nodes", view="summary", nocache=1)["data"]["summary"]
        alive = [node for node in nodes if node["raylet"].get("state") == "ALIVE"]
        return len(alive) == len(self.nodes)

    def _until(self, condition: Callable[[], bool], what: str) -> None:
        def met_or_dead() -> bool:
            self._check_running()
            return condition()

        until(met_or_dead, what, within_s=_READY_WITHIN_S)

    def _check_running(self) -> None:
        for what, children in (("ray", self._ray), ("collector", self._collectors)):
            for index, child in children.items():
                if child.poll() is not None:
                    log = self.nodes[index].folder / f"{what}.log"
                    raise RayhistError(
                        f"the {what} process of node {index} ended with status {child.returncode}:\n"
                        + log.read_text(encoding="utf-8", errors="replace")[-2000:]
                    )

    def _clear_away(self) -> None:
        processes.kill(self.root)
        for child in self._children:
            child.wait()
        shutil.rmtree(self.root, ignore_errors=True)


def _has_started(node: Node) -> bool:
    """Whether `ray start` says so."""
    log = node.folder / "ray.log"
    return log.exists() and b"Ray runtime started." in log.read_bytes()


def _short_temp_dir() -> str:
    preferred = tempfile.gettempdir()
    return preferred if len(os.fsencode(preferred)) <= _LONGEST_TEMP_DIR else "/tmp"  # noqa: S108 - see above
