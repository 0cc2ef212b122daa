"""What Ray itself dropped before it reached us, as its agent's counters on the node's metrics port say.

Ray 2.60 drops the oldest events when its buffer is full, and tells nobody else.  The port stands in the
session's folder, in `metrics_export_port_<node id>`.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from rayhist.errors import RayhistError
from rayhist_collector.dashboard_client import DashboardClient

_TIMEOUT_S = 5.0
_SAMPLE = re.compile(
    rb"^ray_aggregator_agent_queue_dropped_events_total\{([^}\n]*)\} ([0-9.eE+]+)", re.MULTILINE
)
_LABEL = re.compile(rb'(\w+)="([^"]*)"')
_OUR_CONSUMER = b"http_service"


def dropped(session_folder: Path, node: str, ip: str) -> dict[str, int]:
    """Event type → how many were dropped since the agent began; empty if it cannot be asked.  Blocks."""
    try:
        port = int((session_folder / f"metrics_export_port_{node}").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return {}
    for host in dict.fromkeys(["127.0.0.1", ip]):
        try:
            reply = DashboardClient(f"http://{host}:{port}", connections=1).get(
                "/metrics", timeout_s=_TIMEOUT_S
            )
        except RayhistError:
            continue
        return read(reply.body)
    return {}


def read(text: bytes) -> dict[str, int]:
    """The counters in a page of Prometheus' text format."""
    found: Counter[str] = Counter()
    for labels_text, value in _SAMPLE.findall(text):
        labels = dict(_LABEL.findall(labels_text))
        if labels.get(b"consumer", _OUR_CONSUMER) == _OUR_CONSUMER:
            found[labels.get(b"event_type", b"events").decode("ascii", "replace")] += int(float(value))
    return {event_type: count for event_type, count in found.items() if count}
