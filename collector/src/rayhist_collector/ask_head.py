"""The last resort: asking the head which node has our address.  One small question, seldom."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from rayhist.errors import RayhistError
from rayhist.ids import IdKind, hex_id
from rayhist_collector.dashboard_client import DashboardClient

_TIMEOUT_S = 5.0
_DASHBOARD_PORT = 8265


def address(temp_dir: Path) -> str:
    """Where the head's dashboard usually is: on the host of the GCS, if Ray wrote that down; else `""`."""
    try:
        gcs = (temp_dir / "ray_current_cluster").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
    host, _, _ = gcs.rpartition(":")
    return f"http://{host}:{_DASHBOARD_PORT}" if host else ""


def node_id(dashboard: str, ip: str = "") -> str:
    """The id of the only living node with our address (`ip`, if it is known), else `""`.  Blocks."""
    client = DashboardClient(dashboard, connections=1)
    with contextlib.suppress(RayhistError, msgspec.MsgspecError, UnicodeDecodeError, OSError, ValueError):
        filters = [("state", "ALIVE"), ("node_ip", ip or _own_address(dashboard))]
        query = "&".join(
            f"filter_keys={key}&filter_predicates=%3D&filter_values={value}" for key, value in filters
        )
        reply = client.get(f"/api/v0/nodes?limit=2&{query}", timeout_s=_TIMEOUT_S)
        found = msgspec.json.decode(reply.body, type=_Answer).data.result.result
        if len(found) == 1:
            return hex_id(IdKind.NODE, found[0].node_id)
    return ""


def _own_address(dashboard: str) -> str:
    """The address of ours that a packet to the dashboard would carry; none is sent."""
    parts = urlsplit(dashboard)
    family = socket.AF_INET6 if ":" in (parts.hostname or "") else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((parts.hostname, parts.port or _DASHBOARD_PORT))
        return str(probe.getsockname()[0])


class _Node(msgspec.Struct):
    node_id: str


class _Result(msgspec.Struct):
    result: list[_Node]


class _Data(msgspec.Struct):
    result: _Result


class _Answer(msgspec.Struct):
    data: _Data
