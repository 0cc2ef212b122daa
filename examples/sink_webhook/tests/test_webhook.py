import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rayhist import layout
from rayhist.errors import ConfigError, Denied, RayhistError, Unavailable
from rayhist.manifest import JobSummary, SessionMarker
from rayhist.plugins import Plugins, options_of
from rayhist.sink import Sealed, Sink, SinkContext
from rayhist_testkit.contracts import PluginContract, SinkContract
from rayhist_testkit.contracts.sink import SESSION

KEY = layout.key(layout.Marker(SESSION))


class Receiver:
    """A webhook that keeps what it is told, and answers with `status`."""

    def __init__(self) -> None:
        self.status, self.told = 200, []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.told.append((dict(self.headers), json.loads(body)))
                self.send_response(receiver.status)
                self.send_header("Retry-After", "7")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/jobs"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.server.shutdown()
    made.server.server_close()


class TestPlugin(PluginContract):
    role, name = "sink", "webhook"


class TestSink(SinkContract):
    name = "webhook"
    options = {"url": "http://127.0.0.1:1", "server": "https://history"}
    keeps_files = False


class Told:
    """A sink, and a marker to give it."""

    def __init__(self, folder: Path, url: str, **options: Any) -> None:
        kind = Plugins.discover().sink("webhook")
        given = {"url": url, "server": "https://history.example.com/"} | options
        context: SinkContext = SinkContract().context()
        self.sink: Sink = kind.open(context, options_of(kind, given, "$.options"))
        self.path = folder / "marker"

    def of(self, *jobs: JobSummary) -> None:
        self.path.write_bytes(msgspec.json.encode(SessionMarker(jobs=list(jobs))))
        asyncio.run(self.sink.deliver(Sealed(KEY, self.path, self.path.stat().st_size)))


def test_a_finished_job_is_told_once_with_a_link(receiver: Receiver, tmp_path: Path) -> None:
    told = Told(tmp_path, receiver.url)
    told.of(JobSummary("job-1", "RUNNING", "python a.py"))
    assert receiver.told == []
    told.of(JobSummary("job-1", "FAILED", "python a.py"))
    told.of(JobSummary("job-1", "FAILED", "python a.py"))
    [(headers, body)] = receiver.told
    assert body == {
        "job": "job-1",
        "status": "FAILED",
        "entrypoint": "python a.py",
        "url": f"https://history.example.com/s/{SESSION.path}/#/jobs/job-1",
    }
    assert headers["Idempotency-Key"] == f"{SESSION.name}/job-1"


def test_what_was_not_taken_is_told_again(receiver: Receiver, tmp_path: Path) -> None:
    told = Told(tmp_path, receiver.url)
    receiver.status = 503
    with pytest.raises(Unavailable) as caught:
        told.of(JobSummary("job-1", "SUCCEEDED"))
    assert caught.value.retry_after_s == 7
    receiver.status = 200
    told.of(JobSummary("job-1", "SUCCEEDED"))
    assert len(receiver.told) == 2


def test_a_refused_token_is_denied(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK", "s3cr3t")
    receiver.status = 403
    with pytest.raises(Denied) as caught:
        Told(tmp_path, receiver.url, token={"env": "HOOK"}).of(JobSummary("job-1", "STOPPED"))
    assert receiver.told[0][0]["Authorization"] == "Bearer s3cr3t"
    assert "s3cr3t" not in f"{caught.value}"


def test_nobody_there_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable):
        Told(tmp_path, "http://127.0.0.1:1").of(JobSummary("job-1", "SUCCEEDED"))


@pytest.mark.parametrize("data", [b"", b"{not json", b"[]"])
def test_a_marker_that_cannot_be_read_holds_nothing_up(
    receiver: Receiver, tmp_path: Path, data: bytes
) -> None:
    told = Told(tmp_path, receiver.url)
    told.path.write_bytes(data)
    asyncio.run(told.sink.deliver(Sealed(KEY, told.path, len(data))))
    assert receiver.told == []


def test_an_address_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        Told(tmp_path, "hooks.example.com")
    assert isinstance(caught.value, RayhistError)
