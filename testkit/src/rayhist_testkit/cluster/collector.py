"""The collector beside a node: its configuration, its command line, and what it asks of Ray."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from rayhist.errors import RayhistError
from rayhist_testkit.cluster.environment import plain_environment
from rayhist_testkit.cluster.node import Head, Node
from rayhist_testkit.cluster.settings import ClusterSettings

_COLLECT = (sys.executable, "-m", "rayhist.cli", "collect", "--config")
_ANSWERS_WITHIN_S = 30


def configuration(node: Node, head: Head, settings: ClusterSettings) -> dict[str, Any]:
    """The collector's configuration as plain data."""
    return {
        "storage": {"url": settings.storage_url, "options": settings.storage_options},
        "cluster": {"namespace": settings.namespace, "name": settings.name},
        "collector": {
            "role": node.role,
            "temp_dir": str(node.temp_dir),
            "spool": str(node.spool),
            "event_interval_s": settings.event_interval_s,
            "heartbeat_interval_s": settings.event_interval_s,
            "source_options": {
                "ray-events": {"port": node.events_port},
                "log-files": {"interval_s": settings.log_interval_s},
                "dashboard": {"address": head.dashboard, "interval_s": settings.poll_interval_s},
            },
        },
    }


def configure(node: Node, head: Head, settings: ClusterSettings) -> Path:
    """Write the configuration into the node's folder, as JSON; returns its path."""
    node.folder.mkdir(parents=True, exist_ok=True)
    file = node.folder / "collector.json"
    file.write_text(json.dumps(configuration(node, head, settings), indent=2), encoding="utf-8")
    return file


def collect(file: Path) -> list[str | Path]:
    """The command that collects as configured."""
    return [*_COLLECT, file]


def ray_environment(file: Path) -> dict[str, str]:
    """What the collector says that Ray's processes and drivers need in their environment."""
    asked = subprocess.run(  # noqa: S603 - this environment's own interpreter
        [*_COLLECT, file, "--print-ray-env"],
        env=plain_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_ANSWERS_WITHIN_S,
        check=False,
    )
    if asked.returncode:
        raise RayhistError(f"the collector does not say what Ray needs: {asked.stderr}")
    words = shlex.split(asked.stdout, comments=True)
    return dict(word.split("=", 1) for word in words if word != "export")
