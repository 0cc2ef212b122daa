"""The ways a cluster ends, and what happens to it before its last answers are taken."""

from __future__ import annotations

from collections.abc import Callable

from rayhist_testkit.cluster import RayCluster
from rayhist_testkit.cluster.waiting import until
from rayhist_testkit.fidelity.moments import Ending

_NOTICED_WITHIN_S = 60

Say = Callable[[str], None]


def prepare(ending: Ending, cluster: RayCluster, say: Say) -> None:
    """What is done before the live dashboard is asked.  Everything was in the archive before."""
    if ending is not Ending.NODE_LOST:
        return
    lost = cluster.nodes[-1]
    say(f"killing the {cluster.kill_node(lost.index)} processes of one worker node with SIGKILL")
    until(lambda: _is_dead(cluster, lost.address), "the head has noticed", within_s=_NOTICED_WITHIN_S)


def carry_out(ending: Ending, cluster: RayCluster, say: Say) -> None:
    """End the cluster."""
    if ending is Ending.SHUT_DOWN:
        say("ending Ray and the collectors with SIGTERM")
        cluster.stop_cleanly()
    else:
        say(f"killing {cluster.kill_without_warning()} processes with SIGKILL, the collectors' too")


def _is_dead(cluster: RayCluster, address: str) -> bool:
    rows = cluster.dashboard.rows("nodes", node_ip=address)
    return [row["state"] for row in rows] == ["DEAD"]
