"""What a test cluster is to be like."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rayhist.ids import Cluster, ClusterKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """A head and `workers` worker nodes, recorded as cluster `name` in `namespace` into `storage_url`."""

    storage_url: str = ""
    """Where the collectors store; empty: no collector is started."""
    storage_options: dict[str, Any] = field(default_factory=dict)
    namespace: str = "default"
    name: str = "ray"
    workers: int = 2
    cpus: int = 4
    """Logical CPUs of each node."""
    log_interval_s: float = 2.0
    """Seconds between two packs of log bytes."""
    event_interval_s: float = 2.0
    """Seconds between two uploads of events."""
    poll_interval_s: float = 2.0
    """Seconds between two polls of the dashboard."""
    ray_environment: dict[str, str] = field(default_factory=dict)
    """Variables for Ray besides those that recording needs."""

    def cluster(self) -> Cluster:
        """Raises `BadIdentifier` if namespace or name is no DNS-1123 name."""
        return Cluster(ClusterKind.RAYCLUSTER, self.namespace, self.name)
