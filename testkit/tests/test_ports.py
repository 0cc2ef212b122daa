"""Ports that are said to be free are."""

from __future__ import annotations

import socket

from rayhist_testkit.ports import free_ports, is_free, is_open


def test_free_ports_differ_and_can_be_listened_on() -> None:
    ports = free_ports(5)
    assert len(set(ports)) == 5
    assert all(is_free(port) for port in ports)


def test_a_port_that_somebody_listens_on_is_open_and_not_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert is_open("127.0.0.1", port)
        assert not is_free(port)
    assert not is_open("127.0.0.1", port)
