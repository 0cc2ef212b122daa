"""What Ray's own folders say: sessions, node, role, times; and nothing if they are not there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayhist.errors import ConfigError
from rayhist_collector import sessions
from rayhist_collector.identity import Identity
from rayhist_collector.local_time import to_utc_ms

SESSION = "session_2026-11-30_15-25-10_490256_10672"
NEXT = "session_2026-11-30_16-00-00_000001_20"
AS_IF_UTC_MS = 1_796_052_310_490
NODE = "14b8ed7feb82b6199f6c08539de26a4ef141b30849983bbe4bb42790"
OTHER = "ab" * 28


def _folder(ray_folder: Any, name: str = SESSION) -> sessions.SessionFolder:
    return sessions.SessionFolder(name, ray_folder.root / name)


def test_the_latest_session_is_known_even_if_the_link_leads_nowhere(ray_folder: Any) -> None:
    """In a sidecar Ray's temp dir may be mounted elsewhere than the absolute link says."""
    ray_folder.session(latest=False)
    (ray_folder.root / "session_latest").symlink_to(f"/somewhere/else/{SESSION}")
    assert sessions.latest(ray_folder.root) == _folder(ray_folder)


@pytest.mark.parametrize("target", ["/etc", "../../etc/passwd", "session_x", ""])
def test_a_link_that_names_no_session_says_nothing(ray_folder: Any, target: str) -> None:
    (ray_folder.root / "session_latest").symlink_to(target or "/")
    assert sessions.latest(ray_folder.root) is None


def test_only_folders_named_like_sessions_are_sessions(ray_folder: Any, tmp_path: Path) -> None:
    ray_folder.session()
    (ray_folder.root / "session_2026-11-30_15-25-10_490256_1").write_text("a file")
    (ray_folder.root / "session_evil").mkdir()
    (ray_folder.root / "session_2026-11-30_15-25-10_490256_2").symlink_to(tmp_path)
    assert [folder.name for folder in sessions.folders(ray_folder.root)] == [SESSION]


def test_a_missing_folder_says_nothing(tmp_path: Path) -> None:
    gone = sessions.SessionFolder(SESSION, tmp_path / "gone")
    assert sessions.folders(tmp_path / "no") == []
    assert sessions.latest(tmp_path / "no") is None
    assert sessions.nodes(gone) == []
    assert (sessions.role(gone), sessions.ip(gone), sessions.dashboard_address(gone)) == ("", "", "")
    assert sessions.last_sign_ms(gone) == sessions.start_ms(gone) == 0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("debug_state.txt", f"NodeManager:\nNode ID: {NODE}\nNode name: 127.0.0.2\n"),
        ("raylet.out", f"[2026 I 1 1] (raylet) main.cc:711: Setting node ID node_id={NODE}\n"),
        ("raylet.out", f"[2026 I 1 1] (raylet) node_manager.cc:1: Raylet of id, {NODE} started. Raylet\n"),
    ],
)
def test_the_node_is_known_from_what_its_raylet_logged(ray_folder: Any, name: str, text: str) -> None:
    logs = ray_folder.session(node="")
    (logs / name).write_text(text)
    assert [one.node for one in sessions.nodes(_folder(ray_folder))] == [NODE]


def test_the_role_is_the_heads_where_a_gcs_logs(ray_folder: Any) -> None:
    ray_folder.session(head=True)
    ray_folder.session(NEXT, head=False)
    assert sessions.role(_folder(ray_folder)) == "head"
    assert sessions.role(_folder(ray_folder, NEXT)) == "worker"


def test_the_dashboard_and_the_nodes_address_are_read_from_the_logs(ray_folder: Any) -> None:
    logs = ray_folder.session()
    (logs / "dashboard.log").write_text("INFO x.py:1 -- Dashboard head http address: 0.0.0.0:8299\n")
    (logs / "raylet.out").write_text("x. node_manager address: 127.0.0.2:0 object_manager address: 1.2.3.4:0")
    assert sessions.dashboard_address(_folder(ray_folder)) == "http://127.0.0.1:8299"
    assert sessions.ip(_folder(ray_folder)) == "127.0.0.2"


def test_a_worker_that_was_given_a_job_is_noticed(ray_folder: Any) -> None:
    logs = ray_folder.session(head=False)
    (logs / "worker-aa-ffffffff-1.out").touch()
    assert not sessions.workers_ran(_folder(ray_folder))
    (logs / "worker-aa-ffffffff-1.out").write_text(":job_id:01000000\n")
    assert sessions.workers_ran(_folder(ray_folder))


@given(st.integers(-14 * 4, 14 * 4), st.integers(0, 6 * 60))
def test_the_start_is_found_in_any_time_zone(quarters: int, delay_s: int) -> None:
    """The name says the head's local time; the oldest file came at most some minutes later."""
    start_ms = AS_IF_UTC_MS - quarters * 15 * 60 * 1000
    assert to_utc_ms(SESSION, evidence_ms=start_ms + delay_s * 1000) == start_ms


@pytest.mark.parametrize(("offset", "hours"), [("+00:00", 0.0), ("+05:30", 5.5), ("-08:00", -8.0)])
def test_the_offset_that_the_dashboard_states_decides(offset: str, hours: float) -> None:
    assert to_utc_ms(SESSION, evidence_ms=1, offset=offset) == AS_IF_UTC_MS - hours * 3600 * 1000


def test_contradicting_or_missing_evidence_is_not_made_up_for() -> None:
    assert to_utc_ms(SESSION, evidence_ms=AS_IF_UTC_MS + 10**9) == AS_IF_UTC_MS + 10**9
    assert to_utc_ms(SESSION) == 0
    assert to_utc_ms("session_2026-02-31_15-25-10_490256_1", evidence_ms=5, offset="+00:00") == 5
    assert to_utc_ms(SESSION, offset="nonsense") == 0


def test_the_start_is_taken_from_the_oldest_file(ray_folder: Any) -> None:
    logs = ray_folder.session()
    for path in (logs, logs / "raylet.out", logs / "gcs_server.out", *logs.parent.glob("*_port_*")):
        os.utime(path, (AS_IF_UTC_MS / 1000 + 100, AS_IF_UTC_MS / 1000 + 100))
    os.utime(logs / "gcs_server.out", (AS_IF_UTC_MS / 1000 + 3, AS_IF_UTC_MS / 1000 + 3))
    assert sessions.start_ms(_folder(ray_folder)) == AS_IF_UTC_MS


def test_each_session_has_its_own_node(ray_folder: Any) -> None:
    """After a restart of both containers, old logs must not go under the new node."""
    ray_folder.session(SESSION, node=OTHER)
    ray_folder.session(NEXT, node=NODE)
    identity = Identity(ray_folder.root)
    identity.refresh()
    assert (identity.current, identity.node(NEXT), identity.node(SESSION)) == (NEXT, NODE, OTHER)


def test_a_configured_node_is_that_of_the_current_session_only(ray_folder: Any) -> None:
    ray_folder.session(SESSION, node=OTHER)
    ray_folder.session(NEXT, node=OTHER)
    identity = Identity(ray_folder.root, NODE.upper())
    identity.refresh()
    assert (identity.node(NEXT), identity.node(SESSION)) == (NODE, OTHER)


def test_of_several_raylets_in_one_session_the_last_counts(ray_folder: Any) -> None:
    logs = ray_folder.session(node=NODE)
    os.utime(logs.parent / f"metrics_export_port_{NODE}", (1000, 1000))
    (logs.parent / f"metrics_export_port_{OTHER}").touch()
    identity = Identity(ray_folder.root)
    identity.refresh()
    assert identity.node(SESSION) == OTHER


def test_without_a_folder_the_events_tell_session_and_node(tmp_path: Path) -> None:
    identity = Identity(tmp_path)
    identity.refresh()
    assert (identity.current, identity.node(SESSION)) == ("", "")
    identity.heard(SESSION, NODE, 1)
    assert (identity.current, identity.node(SESSION)) == (SESSION, NODE)
    identity.heard(NEXT, "", 2)
    assert (identity.current, identity.node(NEXT)) == (NEXT, "")


def test_a_folder_of_one_raylet_is_believed_more_than_a_stray_event(ray_folder: Any) -> None:
    ray_folder.session(node=NODE)
    identity = Identity(ray_folder.root)
    identity.refresh()
    identity.heard(SESSION, OTHER, 10**15)
    assert identity.node(SESSION) == NODE


def test_a_configured_id_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"\[collector\] node_id: no node id"):
        Identity(tmp_path, "../x")
