"""The endpoint answers 200 to whatever is posted, soon, and keeps what can be believed."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from rayhist.clock import SystemClock
from rayhist.errors import ConfigError
from rayhist.ids import Cluster
from rayhist.source import SourceContext
from rayhist_collector.sources.ray_events import Options, RayEvents
from rayhist_testkit.contracts.source import Log
from rayhist_testkit.intake import RecordingIntake

Act = Callable[[str], Any]


class Counting(RecordingIntake):
    def metrics(self) -> bytes:
        return b"things_total 1\n"


def _context(folder: Path, cluster: Cluster) -> SourceContext:
    return SourceContext(
        cluster=cluster, role="", temp_dir=folder, state_dir=folder, clock=SystemClock(), log=Log()
    )


def _served(
    tmp_path: Path, cluster: Cluster, act: Act, *, full: bool = False, **options: Any
) -> RecordingIntake:
    """Run the source while `act`, on a thread, talks to it."""
    context = _context(tmp_path, cluster)
    intake = Counting(tmp_path)
    intake.full = full

    async def body() -> None:
        task = asyncio.create_task(RayEvents(context, Options(port=0, **options)).run(intake))
        address = tmp_path / "address"
        while not address.exists() and not task.done():
            await asyncio.sleep(0.01)
        try:
            await asyncio.to_thread(act, address.read_text())
        finally:
            task.cancel()
            await asyncio.wait([task])

    asyncio.run(body())
    return intake


def _request(address: str, path: str, body: bytes | Iterable[bytes] | None, method: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)
    try:
        connection.request(method, path, body=body)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


@pytest.mark.parametrize(
    "body",
    [b"", b"garbage", b"\xff\xfe\x00", b"{", b"[", b"null", b'[1, "x", null]', b"[" * 50_000, b'{"a": 1}'],
)
def test_whatever_is_posted_is_answered_200(tmp_path: Path, cluster: Cluster, body: bytes) -> None:
    """Anything else would be posted again for ever, with everything behind it waiting."""
    intake = _served(tmp_path, cluster, lambda address: _is_200(address, body))
    assert all(line in body for line in intake.lines), "handed on as it came"


def _is_200(address: str, body: bytes) -> None:
    assert _request(address, "/v1/events", body, "POST")[0] == 200


def test_a_batch_reaches_the_intake_event_by_event_and_unchanged(tmp_path: Path, cluster: Cluster) -> None:
    body = b'[{"b":2, "a":"\\u00e9"},{"a":1.0e3}]'
    intake = _served(tmp_path, cluster, lambda address: _is_200(address, body))
    assert intake.lines == [b'{"b":2, "a":"\\u00e9"}', b'{"a":1.0e3}']


def test_a_body_over_the_limit_is_cut_off_counted_and_answered(tmp_path: Path, cluster: Cluster) -> None:
    elements = [json.dumps({"n": n, "x": "y" * 1000}).encode() for n in range(3000)]
    body = b"[" + b",".join(elements) + b"]"
    intake = _served(tmp_path, cluster, lambda address: _is_200(address, body), max_body=100_000)
    assert intake.lines[:90] == elements[:90]
    assert len(intake.lines) < 100
    assert [(what, count) for what, count, _ in intake.losses] == [("event batches", 1)]


def test_a_chunked_body_without_a_length_is_bounded_too(tmp_path: Path, cluster: Cluster) -> None:
    def act(address: str) -> None:
        pieces = (b"x" * 65536 for _ in range(100))
        assert _request(address, "/v1/events", pieces, "POST")[0] == 200

    intake = _served(tmp_path, cluster, act, max_body=100_000)
    assert sum(map(len, intake.lines)) == 100_000


def test_only_a_disk_that_takes_nothing_is_answered_503(tmp_path: Path, cluster: Cluster) -> None:
    """Then nothing was promised, and Ray keeps the batch."""

    def act(address: str) -> None:
        status, body = _request(address, "/v1/events", b'[{"a":1}]', "POST")
        assert (status, body) == (503, b"the collector's disk takes nothing\n")

    assert _served(tmp_path, cluster, act, full=True).lines == []


def test_health_and_metrics_are_on_the_same_port(tmp_path: Path, cluster: Cluster) -> None:
    def act(address: str) -> None:
        assert _request(address, "/healthz", None, "GET") == (200, b"ok\n")
        assert _request(address, "/metrics", None, "GET") == (200, b"things_total 1\n")
        assert _request(address, "/other", None, "GET")[0] == 404
        assert _request(address, "/v2/events", b"[]", "POST")[0] == 404

    _served(tmp_path, cluster, act)


def test_a_connection_that_breaks_off_leaves_nothing_half(tmp_path: Path, cluster: Cluster) -> None:
    def act(address: str) -> None:
        parts = urlsplit(address)
        with socket.create_connection((parts.hostname, parts.port)) as raw:
            raw.sendall(b"POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n" + b'[{"a":1},')
        _is_200(address, b'[{"b":2}]')

    assert _served(tmp_path, cluster, act).lines == [b'{"b":2}']


def test_a_port_that_is_taken_is_named_with_the_remedy(tmp_path: Path, cluster: Cluster) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        context = _context(tmp_path, cluster)
        with pytest.raises(ConfigError, match=rf"cannot listen on 127.0.0.1:{port}: Address already in use"):
            asyncio.run(RayEvents(context, Options(port=port)).run(RecordingIntake(tmp_path)))


def test_the_default_is_loopback_and_not_rays_own_metrics_port() -> None:
    assert (Options().host, Options().port) == ("127.0.0.1", 8084)
