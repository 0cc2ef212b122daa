"""Free TCP ports of this machine."""

from __future__ import annotations

import socket
from contextlib import ExitStack


def free_ports(count: int) -> list[int]:
    """Return `count` different ports that nobody listens on, on any address, at this moment."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("", 0))
        return [one.getsockname()[1] for one in sockets]


def is_free(port: int) -> bool:
    """Whether nobody listens on the port, on any address, at this moment."""
    with socket.socket() as one:
        try:
            one.bind(("", port))
        except OSError:
            return False
    return True


def is_open(address: str, port: int) -> bool:
    """Whether somebody listens on the port at this address."""
    try:
        socket.create_connection((address, port), timeout=1).close()
    except OSError:
        return False
    return True
