"""The environment that everything is started with."""

from __future__ import annotations

import os
import sysconfig

_FOREIGN = ("RAY_", "RAYHIST_", "PYTHONDONTWRITEBYTECODE")


def plain_environment() -> dict[str, str]:
    """This process's, without what points Ray or us at somebody else's cluster, or loopback at a proxy.

    This interpreter's scripts come first in `PATH`.  Byte code may be kept, or each of Ray's many processes
    would compile all it imports anew.
    """
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith(_FOREIGN)}
    loopback = ",".join(["localhost", *(f"127.0.0.{last}" for last in range(1, 20))])
    path = os.pathsep.join([sysconfig.get_path("scripts"), kept.get("PATH", os.defpath)])
    return {**kept, "PATH": path, "no_proxy": loopback, "NO_PROXY": loopback, "RAY_USAGE_STATS_ENABLED": "0"}
