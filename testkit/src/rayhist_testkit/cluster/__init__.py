"""A real Ray of several nodes on loopback addresses of one machine, with a collector beside each node.

Needs the `demo` extra (Ray and psutil).  Linux answers on all of 127.0.0.0/8; elsewhere the addresses beyond
127.0.0.1 have to be set up first.
"""

from rayhist_testkit.cluster.cluster import RayCluster
from rayhist_testkit.cluster.settings import ClusterSettings

__all__ = ["ClusterSettings", "RayCluster"]
