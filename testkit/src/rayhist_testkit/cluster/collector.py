"""The collector beside a node: its configuration file and its command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from rayhist_testkit.cluster.node import Head, Node
from rayhist_testkit.cluster.settings import ClusterSettings


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
                "dashboard": {
                    "address": head.dashboard,
                    "interval_s": settings.poll_interval_s,
                },
            },
        },
    }


def collect(node: Node, head: Head, settings: ClusterSettings) -> list[str | Path]:
    """Write the configuration file (JSON) into the node's folder, and return the command that uses it."""
    node.folder.mkdir(parents=True, exist_ok=True)
    file = node.folder / "collector.json"
    file.write_text(json.dumps(configuration(node, head, settings), indent=2), encoding="utf-8")
    return [sys.executable, "-m", "rayhist.cli", "collect", "--config", file]
