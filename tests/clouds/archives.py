"""A session recorded by a collector into a backend, and shown by a server out of it.

Derive from `ArchiveTests` in a backend's own tests.  The session is a recorded one: its events are posted to
a real collector, which also finds some of its logs.
"""

from __future__ import annotations

import functools
import json
import shutil
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple

from rayhist import events
from rayhist.ids import Cluster, ClusterKind, IdKind, Session, hex_from_base64
from rayhist_testkit.cluster import processes
from rayhist_testkit.cluster.dashboard import Dashboard
from rayhist_testkit.cluster.environment import plain_environment
from rayhist_testkit.cluster.server import HistoryServer
from rayhist_testkit.cluster.waiting import until
from rayhist_testkit.recordings import RAY_2_60, Recording

_CLUSTER = Cluster(ClusterKind.RAYCLUSTER, "clouds", "recorded")
_LOG = b"a line of the raylet\n" * 1000
_BATCH = 200


class Recorded(NamedTuple):
    """What goes into the collector."""

    session: Session
    node: str
    lines: list[bytes]


@functools.cache
def _recorded() -> Recorded:
    lines = Recording(RAY_2_60).events()
    decoded = [events.decode(line) for line in lines]
    head = next(one.driver_job_definition_event for one in decoded if one.driver_job_definition_event)
    node = hex_from_base64(IdKind.NODE, head.driver_node_id)
    return Recorded(Session(_CLUSTER, decoded[0].session_name), node, lines)


class ArchiveTests:
    """Say where the archive is by overriding `url_and_options`."""

    def url_and_options(self) -> tuple[str, dict[str, Any]]:
        """An empty archive's `[storage]` url and options."""
        raise NotImplementedError("override url_and_options")

    def test_a_session_is_recorded_listed_and_replayed(self, tmp_path: Path) -> None:
        """The same answers as out of a folder: none is lost on the way, none is made up."""
        url, options = self.url_and_options()
        _record(url, options, tmp_path / "collector")
        answers = _answers(url, options, tmp_path / "server")
        assert len(answers["tasks"]) > 10
        assert answers == _from_a_folder()


@functools.cache
def _from_a_folder() -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp(prefix="rayhist-clouds-"))
    try:
        url = (folder / "archive").as_uri()
        _record(url, {}, folder / "collector")
        return _answers(url, {}, folder / "server")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _record(url: str, options: dict[str, Any], folder: Path) -> None:
    """Run a collector beside what a node would have left, post the events to it, and end it."""
    recorded = _recorded()
    logs = folder / "ray" / recorded.session.name / "logs"
    logs.mkdir(parents=True)
    (logs / "gcs_server.out").write_bytes(b"gcs\n")
    (logs / "raylet.out").write_bytes(_LOG)
    (logs.parent / f"metrics_export_port_{recorded.node}").write_text("1234")
    (folder / "ray" / "session_latest").symlink_to(logs.parent)
    file = folder / "rayhist.json"
    file.write_text(json.dumps(_configuration(url, options, folder)))
    child = processes.start(
        [sys.executable, "-m", "rayhist.cli", "collect", "--config", file],
        folder=folder,
        environment=plain_environment(),
        output=folder / "collect.log",
    )
    try:
        address = folder / "spool" / "state" / "ray-events" / "address"
        until(lambda: address.exists() and address.read_text(), "the collector listens", within_s=30)
        _post(address.read_text(), recorded.lines)
        processes.terminate([child], within_s=60)
    finally:
        processes.kill(folder)
    assert child.returncode == 0, (folder / "collect.log").read_text(errors="replace")[-3000:]


def _configuration(url: str, options: dict[str, Any], folder: Path) -> dict[str, Any]:
    return {
        "storage": {"url": url, "options": options},
        "cluster": {"namespace": _CLUSTER.namespace, "name": _CLUSTER.name},
        "collector": {
            "role": "head",
            "temp_dir": str(folder / "ray"),
            "spool": str(folder / "spool"),
            "sources": ["ray-events", "log-files"],
            "source_options": {"ray-events": {"port": 0}, "log-files": {"interval_s": 0.5}},
            "event_interval_s": 0.5,
            "heartbeat_interval_s": 1.0,
        },
    }


def _post(address: str, lines: list[bytes]) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    for start in range(0, len(lines), _BATCH):
        body = b"[" + b",".join(lines[start : start + _BATCH]) + b"]"
        request = urllib.request.Request(f"{address}/v1/events", data=body, method="POST")
        with opener.open(request, timeout=30) as answer:
            assert answer.status == 200


def _answers(url: str, options: dict[str, Any], folder: Path) -> dict[str, Any]:
    """What the server shows of the session."""
    recorded = _recorded()
    with HistoryServer(url, folder, storage_options=options) as server:
        server.until_ended(recorded.session)
        shown = server.session(recorded.session)
        return {
            "tasks": {(row["task_id"], row["attempt_number"], row["state"]) for row in shown.rows("tasks")},
            "actors": {(row["actor_id"], row["class_name"], row["state"]) for row in shown.rows("actors")},
            "workers": {row["worker_id"] for row in shown.rows("workers")},
            "raylet.out": _log(shown, recorded.node),
        }


def _log(shown: Dashboard, node: str) -> bytes:
    body = shown.raw("api/v0/logs/file", node_id=node, filename="raylet.out", lines=-1, format="text")
    assert _LOG in body
    return body
