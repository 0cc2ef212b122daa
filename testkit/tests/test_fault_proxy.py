"""The fault proxy treats requests as it says, and passes good ones on unchanged."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from rayhist_testkit.servers.fault_proxy import FaultProxy, Mode

_BODY = bytes(range(256)) * 1000


class Upstream(ThreadingHTTPServer):
    """Keeps what is put, and gives it back."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.kept: dict[str, bytes] = {}
        self.hosts: list[str] = []


class _Handler(BaseHTTPRequestHandler):
    server: Upstream

    def do_PUT(self) -> None:
        length = int(self.headers["Content-Length"])
        data = self.rfile.read(length)
        self.server.hosts.append(self.headers["Host"])
        if len(data) == length:
            self.server.kept[self.path] = data
            self._answer(b"done")

    def do_GET(self) -> None:
        self._answer(self.server.kept[self.path])

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream() as server:
        thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.02))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def proxy(upstream: Upstream) -> Iterator[FaultProxy]:
    with FaultProxy(upstream.server_port, retry_after_s=7) as made:
        yield made


def _ask(
    proxy: FaultProxy, method: str = "PUT", body: bytes = _BODY
) -> tuple[int, http.client.HTTPMessage, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=10)
    try:
        connection.request(method, "/some/key", body or None)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def test_good_requests_and_answers_pass_unchanged(proxy: FaultProxy, upstream: Upstream) -> None:
    assert _ask(proxy)[::2] == (200, b"done")
    assert _ask(proxy, "GET", b"")[2] == _BODY == upstream.kept["/some/key"]
    assert upstream.hosts == [f"127.0.0.1:{proxy.port}"], "a signature is made of the host's name as well"
    assert proxy.treated == {Mode.GOOD: 2}


@pytest.mark.parametrize(
    ("mode", "status", "code"),
    [
        (Mode.SLOW_DOWN, 503, b"SlowDown"),
        (Mode.BROKEN, 500, b"Internal"),
        (Mode.DENIED, 403, b"AccessDenied"),
    ],
)
def test_some_faults_are_answers(
    proxy: FaultProxy, upstream: Upstream, mode: Mode, status: int, code: bytes
) -> None:
    proxy.become(mode)
    answered, headers, body = _ask(proxy)
    assert (answered, code in body) == (status, True)
    assert headers["Retry-After"] == ("7" if mode is Mode.SLOW_DOWN else None)
    assert not upstream.kept


@pytest.mark.parametrize(
    ("mode", "arrives"),
    [
        (Mode.REFUSED, False),
        (Mode.RESET_BEFORE, False),
        (Mode.RESET_AFTER, True),
        (Mode.CUT_REQUEST, False),
        (Mode.CUT_ANSWER, True),
    ],
)
def test_other_faults_are_no_answers(
    proxy: FaultProxy, upstream: Upstream, mode: Mode, arrives: bool
) -> None:
    proxy.become(mode)
    with pytest.raises((OSError, http.client.HTTPException)):
        _ask(proxy)
    assert ("/some/key" in upstream.kept) == arrives
    proxy.become(Mode.GOOD)
    assert _ask(proxy)[0] == 200, "it is well again, on the same port"


def test_what_hangs_is_reset_when_the_fault_ends(proxy: FaultProxy, upstream: Upstream) -> None:
    proxy.become(Mode.HANGING)
    ended: list[BaseException] = []

    def ask() -> None:
        try:
            _ask(proxy)
        except (OSError, http.client.HTTPException) as error:
            ended.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    while not proxy.treated[Mode.HANGING]:
        asking.join(0.01)
        assert asking.is_alive()
    proxy.become(Mode.GOOD)
    asking.join(10)
    assert isinstance(ended[0], ConnectionError)
    assert not upstream.kept


def test_a_share_of_the_requests_is_hit(proxy: FaultProxy) -> None:
    proxy.become(Mode.DENIED, share=0.5)
    statuses = [_ask(proxy, body=b"x")[0] for _ in range(40)]
    assert 5 < statuses.count(403) < 35
    assert statuses.count(200) + statuses.count(403) == 40
