"""What nodes and collectors are started with fits together, and fits what the programs accept."""

from __future__ import annotations

from pathlib import Path

import pytest

from rayhist import config
from rayhist.commands.config import check
from rayhist.plugins import Plugins
from rayhist_testkit.cluster import ClusterSettings
from rayhist_testkit.cluster.collector import configure, ray_environment
from rayhist_testkit.cluster.environment import plain_environment
from rayhist_testkit.cluster.node import Head, Node

_LONGEST_SOCKET_BYTES = 107
_SOCKET = "session_2026-11-30_15-25-10_490256_4194304/sockets/plasma_store"


@pytest.fixture
def head() -> Head:
    return Head.on_free_ports()


def test_the_collector_accepts_its_configuration(tmp_path: Path, head: Head) -> None:
    settings = ClusterSettings(storage_url=(tmp_path / "archive").as_uri(), namespace="n", name="c")
    for index, role in ((0, "head"), (1, "worker")):
        node = Node.below(tmp_path, index)
        loaded = config.load(str(configure(node, head, settings)), {})
        check(loaded, Plugins.discover())
        assert loaded.collector.role == role
        assert loaded.cluster.cluster() == settings.cluster()


def test_ray_posts_to_its_own_nodes_collector(tmp_path: Path, head: Head) -> None:
    node = Node.below(tmp_path, 1)
    settings = ClusterSettings(storage_url=(tmp_path / "archive").as_uri())
    asked = ray_environment(configure(node, head, settings))
    addresses = [value for name, value in asked.items() if name.endswith("_EVENTS_EXPORT_ADDR")]
    assert addresses == [f"http://127.0.0.1:{node.events_port}/v1/events"]
    assert asked["RAY_enable_core_worker_ray_event_to_aggregator"] == "1"


def test_nodes_differ_in_address_folder_and_ports(tmp_path: Path) -> None:
    nodes = [Node.below(tmp_path, index) for index in range(4)]
    assert len({node.address for node in nodes}) == len({node.folder for node in nodes}) == 4
    assert all(node.address.startswith("127.0.0.") for node in nodes)
    assert len(set(_ports(nodes[0]))) == 3


def _ports(node: Node) -> tuple[int, int, int]:
    return node.events_port, node.agent_port, node.metrics_port


def test_the_head_is_started_before_workers_join_it(tmp_path: Path, head: Head) -> None:
    first, second = (Node.below(tmp_path, index).ray_start(head, cpus=2) for index in range(2))
    assert "--head" in first
    assert second[second.index("--address") + 1] == head.address
    assert "--head" not in second


def test_rays_sockets_have_room_below_the_folder() -> None:
    node = Node.below(Path("/tmp/rh-abcdefgh"), 12)
    assert len(f"{node.temp_dir}/{_SOCKET}") <= _LONGEST_SOCKET_BYTES


def test_log_sizes_leave_out_what_is_empty_linked_or_rewritten(tmp_path: Path) -> None:
    node = Node.below(tmp_path, 0)
    logs = node.temp_dir / "session_1" / "logs"
    (logs / "events").mkdir(parents=True)
    (node.temp_dir / "session_latest").symlink_to(logs.parent)
    (logs / "raylet.out").write_text("12345")
    (logs / "events" / "event_GCS.log").write_text("1")
    (logs / "debug_state.txt").write_text("is written anew")
    (logs / "empty.err").touch()
    (logs / "link.out").symlink_to(logs / "raylet.out")
    assert node.log_sizes() == {"raylet.out": 5, "events/event_GCS.log": 1}


def test_nothing_of_the_users_own_cluster_reaches_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "ray://somebody:10001")
    monkeypatch.setenv("RAYHIST__STORAGE__URL", "s3://somebodys/bucket")
    monkeypatch.setenv("NO_PROXY", "")
    made = plain_environment()
    assert "RAY_ADDRESS" not in made
    assert "RAYHIST__STORAGE__URL" not in made
    assert made["RAY_USAGE_STATS_ENABLED"] == "0"
    assert "127.0.0.2" in made["NO_PROXY"].split(",")
