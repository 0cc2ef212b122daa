"""A real collector process: what it records, how it ends, what it refuses, and what it costs to load."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rayhist import layout
from rayhist.ids import Cluster, Session
from rayhist.manifest import Ending, NodeManifest, SessionMarker

pytestmark = pytest.mark.services
SESSION = "session_2026-11-30_15-25-10_490256_10672"
NEXT = "session_2026-11-30_16-00-00_000001_20"
NODE = "14b8ed7feb82b6199f6c08539de26a4ef141b30849983bbe4bb42790"
OTHER = "ab" * 28

Until = Callable[..., None]


def _marker(process: Any, cluster: Cluster, session: str = SESSION) -> SessionMarker | None:
    data = process.objects().get(layout.key(layout.Marker(Session(cluster, session))))
    return msgspec.json.decode(data, type=SessionMarker) if data else None


def _manifest(
    process: Any, cluster: Cluster, session: str = SESSION, node: str = NODE
) -> NodeManifest | None:
    data = process.objects().get(layout.key(layout.NodeManifest(Session(cluster, session), node)))
    return msgspec.json.decode(data, type=NodeManifest) if data else None


def _kinds(process: Any, session: str = SESSION) -> set[str]:
    references = [layout.parse(key) for key in process.objects()]
    return {
        type(one).__name__
        for one in references
        if getattr(getattr(one, "session", None), "name", "") == session
    }


def test_a_heads_session_is_listed_at_once_and_its_end_is_clean(
    make_process: Callable[..., Any], ray_folder: Any, cluster: Cluster, wait_until: Until
) -> None:
    """Without any event, answer or configured role: a pod that is killed after a second is listed."""
    process = make_process()
    process.start()
    ray_folder.session()
    wait_until(lambda: _marker(process, cluster), "the marker is there", process.log)
    first = _marker(process, cluster)
    assert first is not None
    assert (first.ending, first.end_ms, first.layout_version) == (Ending.RUNNING, 0, layout.VERSION)
    wait_until(lambda: _manifest(process, cluster), "the manifest is there", process.log)
    assert process.stop() == 0
    last, manifest = _marker(process, cluster), _manifest(process, cluster)
    assert last is not None
    assert manifest is not None
    assert (last.ending, last.head_node) == (Ending.CLEAN, NODE)
    assert last.end_ms == last.last_seen_ms >= first.last_seen_ms
    assert (manifest.ending, manifest.role, manifest.node_id, manifest.pending_bytes) == (
        "clean",
        "head",
        NODE,
        0,
    )
    assert {"raylet.out", "gcs_server.out"} == manifest.logs.keys()
    assert "everything was sent" in process.log()


def test_a_worker_writes_no_marker_but_a_manifest(
    make_process: Callable[..., Any], ray_folder: Any, cluster: Cluster, wait_until: Until
) -> None:
    ray_folder.session(head=False)
    process = make_process()
    process.start()
    wait_until(lambda: _manifest(process, cluster), "the manifest is there", process.log)
    assert process.stop() == 0
    assert _kinds(process) == {"NodeManifest", "LogPack"}


def test_events_alone_make_a_session(
    make_process: Callable[..., Any], cluster: Cluster, wait_until: Until, make_event: Callable[..., Any]
) -> None:
    """No folder is shared with Ray: the role comes from the configuration, the rest from the events."""
    process = make_process(role="head", sources=["ray-events"])
    process.start()
    assert process.post(json.dumps([make_event(1)]).encode()) == 200
    wait_until(lambda: {"Marker", "EventFile"} <= _kinds(process), "session and events", process.log)
    assert process.stop() == 0
    manifest = _manifest(process, cluster)
    assert manifest is not None
    assert manifest.events["TASK_LIFECYCLE_EVENT"].count == 1


def test_a_head_restart_ends_the_old_session_and_files_each_event_under_its_own(
    make_process: Callable[..., Any],
    ray_folder: Any,
    cluster: Cluster,
    wait_until: Until,
    make_event: Callable[..., Any],
) -> None:
    old_logs = ray_folder.session(SESSION, node=OTHER)
    process = make_process()
    process.start()
    process.post(json.dumps([make_event(1)]).encode())
    wait_until(lambda: _marker(process, cluster), "the first session is listed", process.log)
    ray_folder.session(NEXT, node=NODE)
    (old_logs / "late.log").write_text("written before the end\n")
    process.post(json.dumps([make_event(2), make_event(3, sessionName=NEXT)]).encode())

    def replaced() -> bool:
        marker = _marker(process, cluster)
        return marker is not None and marker.ending is Ending.REPLACED

    wait_until(replaced, "the old marker says it was replaced", process.log)
    assert process.stop() == 0
    new = _marker(process, cluster, NEXT)
    assert new is not None
    assert new.ending is Ending.CLEAN
    counts = {}
    for key, data in process.objects().items():
        reference = layout.parse(key)
        if isinstance(reference, layout.EventFile):
            for line in gzip.decompress(data).splitlines():
                assert json.loads(line)["sessionName"] == reference.session.name
            counts[reference.session.name] = counts.get(reference.session.name, 0) + len(
                gzip.decompress(data).splitlines()
            )
        if isinstance(reference, layout.LogPack):
            assert reference.node == {SESSION: OTHER, NEXT: NODE}[reference.session.name]
    assert counts == {SESSION: 2, NEXT: 1}
    old = _manifest(process, cluster, SESSION, OTHER)
    assert old is not None
    assert "late.log" in old.logs


def test_a_restarted_collector_takes_up_its_session_again(
    make_process: Callable[..., Any], ray_folder: Any, cluster: Cluster, wait_until: Until
) -> None:
    logs = ray_folder.session()
    process = make_process()
    process.start()
    wait_until(lambda: _manifest(process, cluster), "the manifest is there", process.log)
    assert process.stop() == 0
    (logs / "raylet.out").write_text("raylet\nmore\n")
    process.start()

    def running() -> bool:
        marker = _marker(process, cluster)
        return marker is not None and marker.ending is Ending.RUNNING

    wait_until(running, "it runs again", process.log)
    assert process.stop() == 0
    manifest = _manifest(process, cluster)
    assert manifest is not None
    assert manifest.logs["raylet.out"].bytes == 12, "it goes on counting"
    packs = [key for key in process.objects() if "log_packs" in key]
    assert len(packs) == 2


def test_a_second_collector_on_one_node_refuses_and_the_first_goes_on(
    make_process: Callable[..., Any], ray_folder: Any
) -> None:
    process = make_process()
    process.start()
    assert process.get("/healthz") == "ok\n"
    second = make_process()
    second.start()
    assert second.wait() == 2
    assert "another collector uses the spool" in second.log()
    assert process.get("/healthz") == "ok\n"


def test_once_records_what_is_there_and_ends(
    make_process: Callable[..., Any], ray_folder: Any, cluster: Cluster
) -> None:
    ray_folder.session()
    process = make_process()
    process.start("--once")
    assert process.wait() == 0
    assert {"Marker", "NodeManifest", "LogPack"} <= _kinds(process)


def test_what_cannot_be_sent_stays_on_disk_and_is_sent_by_the_next(
    make_process: Callable[..., Any], ray_folder: Any, make_event: Callable[..., Any]
) -> None:
    """Files stand where the archive's folders should be, until somebody takes them away."""
    ray_folder.session()
    process = make_process(shutdown_budget_s=3)
    process.archive.mkdir()
    for name in ("cluster-history", "cluster-metadata"):
        (process.archive / name).write_text("in the way")
    process.start()
    assert process.post(json.dumps([make_event(1)]).encode()) == 200
    assert process.stop() == 0
    assert "not everything was sent" in process.log()
    for name in ("cluster-history", "cluster-metadata"):
        (process.archive / name).unlink()
    process.start()
    assert process.get("/healthz") == "ok\n"
    assert process.stop() == 0
    assert {"Marker", "NodeManifest", "LogPack", "EventFile"} <= _kinds(process)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"source_options": {"ray-events": {"prot": 1}}}, "source_options.ray-events"),
        ({"sources": ["ray-event"]}, "no source plugin is called 'ray-event'"),
        ({"sinks": ["archives"]}, "no sink plugin is called 'archives'"),
        ({"node_id": "xyz"}, "node_id"),
        ({"event_interval_s": 0}, "event_interval_s"),
        ({"source_options": {"log-files": {"pack_bytes": 0}}}, "must not be 0"),
    ],
)
def test_a_wrong_configuration_is_named_and_ends_with_2(
    make_process: Callable[..., Any], change: dict[str, Any], said: str
) -> None:
    process = make_process(**change)
    process.start()
    assert process.wait() == 2
    assert said in process.log()
    assert "Traceback" not in process.log()


def _loaded(*arguments: str) -> set[str]:
    script = (
        "import sys, json\n"
        "from rayhist.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))\n"
    )
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_help_loads_nothing_heavy() -> None:
    heavy = {"obstore", "uvicorn", "urllib3", "prometheus_client", "structlog", "litestar", "ray"}
    assert not _loaded("collect", "--help") & heavy


def test_a_running_collector_never_loads_the_servers_libraries(
    make_process: Callable[..., Any], ray_folder: Any, tmp_path: Path
) -> None:
    """It shares a pod with Ray: what it loads, every node pays for."""
    ray_folder.session()
    process = make_process(sources=["ray-events", "log-files", "dashboard"])
    config = process._config
    loaded = _loaded("collect", "--once", "--config", str(config))
    assert {"rayhist_collector", "uvicorn"} <= loaded | {"uvicorn"}
    forbidden = {"litestar", "kubernetes", "diskcache", "httpx", "rayhist_server", "ray", "obstore", "pytest"}
    assert not loaded & forbidden


def _settings(process: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rayhist.cli", "collect", "--print-ray-env"]
    return subprocess.run(
        [*command, "--config", str(process._config)], capture_output=True, text=True, check=False
    )


def test_the_settings_for_ray_name_the_collectors_own_address(make_process: Callable[..., Any]) -> None:
    process = make_process(source_options={"ray-events": {"port": 12345}})
    command = [
        sys.executable,
        "-m",
        "rayhist.cli",
        "collect",
        "--print-ray-env",
        "--config",
        str(process._config),
    ]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    script = f'{printed}\nprintf "%s\\n" "$RAY_DASHBOARD_AGGREGATOR_AGENT_EVENTS_EXPORT_ADDR"; env'
    shell = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=True, env={})
    lines = shell.stdout.splitlines()
    assert lines[0] == "http://127.0.0.1:12345/v1/events"
    types = dict(line.split("=", 1) for line in lines if "=" in line)[
        "RAY_DASHBOARD_AGGREGATOR_AGENT_EXPOSABLE_EVENT_TYPES"
    ].split(",")
    assert "ALL" not in types
    assert {"TASK_LIFECYCLE_EVENT", "TASK_PROFILE_EVENT", "WORKER_DEFINITION_EVENT"} <= set(types)
    assert "driver" in printed


def test_the_settings_cannot_name_a_port_that_is_chosen_by_chance(make_process: Callable[..., Any]) -> None:
    process = make_process()
    command = [
        sys.executable,
        "-m",
        "rayhist.cli",
        "collect",
        "--print-ray-env",
        "--config",
        str(process._config),
    ]
    refused = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))
    assert refused.returncode == 2
    assert "port of ray-events is 0" in refused.stderr
