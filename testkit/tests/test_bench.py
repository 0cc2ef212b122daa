"""The benchmark's own honesty: no event twice, a rate that is not held is said, a broken limit is counted."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rayhist.errors import RayhistError
from rayhist_testkit.bench import __main__ as bench
from rayhist_testkit.bench.feed import Feed
from rayhist_testkit.bench.figures import Figure, Run, table, write
from rayhist_testkit.bench.load import Sent, held
from rayhist_testkit.bench.poster import Posted, post


class _Receiver(ThreadingHTTPServer):
    status = 200
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.batches: list[list[dict[str, Any]]] = []


class _Handler(BaseHTTPRequestHandler):
    server: _Receiver
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.server.batches.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(self.server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[_Receiver]:
    with _Receiver() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def _address(receiver: _Receiver) -> str:
    return f"http://127.0.0.1:{receiver.server_port}"


def test_no_event_comes_twice_however_long_it_goes_on() -> None:
    feed = Feed()
    ids = [event["eventId"] for _ in range(25) for event in json.loads(feed.body(1000))]
    assert len(ids) == len(set(ids)) == 25_000
    assert {len(one) for one in ids} == {40}
    assert 700 < feed.mean_bytes < 1100


def test_batches_are_rays_and_what_is_posted_is_what_is_counted(receiver: _Receiver) -> None:
    posted = post(_address(receiver), Feed(), rate=3000, seconds=1.0)
    assert posted.events == sum(map(len, receiver.batches))
    assert max(map(len, receiver.batches)) <= 1000
    assert len(posted.latencies) == len(receiver.batches)


def test_a_rate_that_nobody_can_hold_is_not_held(receiver: _Receiver) -> None:
    rate = 10_000_000
    posted = post(_address(receiver), Feed(), rate=rate, seconds=0.5)
    assert posted.events < rate * 0.5 * 0.9
    [taken, *_] = held(Sent(rate, posted, 1.0, 1.0))
    assert not taken.within
    assert "not held" in taken.note


def test_it_goes_on_until_it_is_enough(receiver: _Receiver) -> None:
    post(_address(receiver), Feed(), rate=1000, seconds=0.0, enough=lambda: len(receiver.batches) >= 3)
    assert len(receiver.batches) >= 3


def test_a_refused_batch_ends_the_measurement(receiver: _Receiver) -> None:
    receiver.status = 503
    with pytest.raises(RayhistError, match="answered 503"):
        post(_address(receiver), Feed(), rate=1000, seconds=0.5)


def test_latencies_are_ranked() -> None:
    posted = Posted(0, 1.0, [0.1 * n for n in range(100, 0, -1)])
    assert (posted.latency(0.5), posted.latency(0.99)) == (pytest.approx(5.1), pytest.approx(10.0))


def test_the_table_ends_with_how_many_limits_are_kept(tmp_path: Path) -> None:
    figures = [
        Figure("a", "one", 9.0, "ms", most=10.0),
        Figure("a", "two", 11.0, "ms", most=10.0),
        Figure("a", "three", 11.0, "/s", least=12.0, note="not held"),
        Figure("b", "four", 1234.5, "MB"),
    ]
    *lines, last = table(figures)
    assert last == "bench-collector: 1 of 3 within limits"
    assert [line.split()[-1] for line in lines if line.startswith("  ")][:2] == ["yes", "NO"]
    assert any("NO   not held" in line for line in lines)
    write(Run("here", "file", figures), tmp_path / "out" / "run.json")
    assert json.loads((tmp_path / "out" / "run.json").read_bytes())["figures"][1]["value"] == 11.0


@pytest.mark.services
@pytest.mark.timeout(240)
def test_a_short_run_measures_real_collectors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run.json"
    arguments = "--rates 200 --seconds 2 --interval 2 --logs 2 --idle 10 --files 20 --store file --json"
    assert bench.main([*arguments.split(), str(out)]) in {0, 1}
    figures = json.loads(out.read_bytes())["figures"]
    values = {figure["name"]: figure["value"] for figure in figures}
    assert values["CPU per 1,000 events/s"] > 0
    assert values["posted bytes per archived byte"] > 3
    assert values["writes to the store for them, an interval"] > 0
    assert "within limits" in capsys.readouterr().out.splitlines()[-1]
