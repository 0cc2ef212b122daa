"""`rayhist sessions`: the archive's sessions for people and for programs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import msgspec
import pytest

from rayhist import layout
from rayhist.cli import main
from rayhist.ids import Cluster, ClusterKind, Session
from rayhist.local import LocalStore, Options
from rayhist.manifest import Ending, JobSummary, SessionMarker

Output = pytest.CaptureFixture[str]
CLUSTER = Cluster(ClusterKind.RAYSERVICE, "team-a", "ray", "shop")


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalStore:
    """An empty one that the command finds."""
    monkeypatch.setenv("RAYHIST__STORAGE__URL", (tmp_path / "archive").as_uri())
    monkeypatch.delenv("RAYHIST_CONFIG", raising=False)
    return LocalStore(tmp_path / "archive", Options(fsync=False))


def put(archive: LocalStore, day: int, marker: SessionMarker | None = None) -> None:
    session = Session(CLUSTER, f"session_2026-11-{day:02}_15-30-13_707929_1")
    body = msgspec.json.encode(marker) if marker else b""
    asyncio.run(archive.put(layout.key(layout.Marker(session)), body))


def test_the_table_names_what_a_user_looks_for(archive: LocalStore, capsys: Output) -> None:
    jobs = [JobSummary("a", "SUCCEEDED"), JobSummary("b", "FAILED"), JobSummary("c", "SUCCEEDED")]
    ended = SessionMarker(
        start_ms=1796052613707, end_ms=1796053527832, ending=Ending.CLEAN, ray_version="2.60.0", jobs=jobs
    )
    put(archive, 30, ended)
    put(archive, 29)

    assert main(["sessions"]) == 0
    header, newest, oldest = capsys.readouterr().out.splitlines()
    assert header.split("  ")[0] == "STARTED (UTC)"
    assert newest.split() == [
        *("2026-11-30", "15:30:13", "ended", "2026-11-30", "15:45:27", "2.60.0"),
        *("rayservice/team-a/shop/ray", "session_2026-11-30_15-30-13_707929_1"),
        *("2", "SUCCEEDED,", "1", "FAILED"),
    ]
    assert oldest.split()[:3] == ["~2026-11-29", "15:30:13", "unknown"]


def test_programs_get_json(archive: LocalStore, capsys: Output) -> None:
    put(archive, 30, SessionMarker(start_ms=5, end_ms=6, jobs=[JobSummary("a", "FAILED", "sh x.sh")]))

    assert main(["sessions", "--json"]) == 0
    [found] = json.loads(capsys.readouterr().out)
    assert found == {
        "kind": "rayservice",
        "namespace": "team-a",
        "owner": "shop",
        "cluster": "ray",
        "session": "session_2026-11-30_15-30-13_707929_1",
        "state": "ended",
        "start_ms": 5,
        "start_is_approximate": False,
        "last_seen_ms": 6,
        "end_ms": 6,
        "ray_version": None,
        "jobs": [{"id": "a", "status": "FAILED", "entrypoint": "sh x.sh"}],
    }


def test_a_limit_says_what_it_leaves_out(archive: LocalStore, capsys: Output) -> None:
    for day in (1, 2, 3):
        put(archive, day)

    assert main(["sessions", "--limit", "2"]) == 0
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 3
    assert captured.err == "2 of 3 sessions; --limit 0 shows all\n"
    assert main(["sessions", "--limit", "0"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4


def test_an_empty_archive_says_where_it_looked(archive: LocalStore, capsys: Output) -> None:
    assert main(["sessions"]) == 0
    assert capsys.readouterr().err == f"no sessions in {archive.location}\n"
    assert main(["sessions", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_a_negative_limit_is_a_mistake_in_the_call(archive: LocalStore, capsys: Output) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["sessions", "--limit", "-1"])

    assert caught.value.code == 2
    assert "--limit: not a number of sessions: -1" in capsys.readouterr().err


def test_an_archive_cannot_speak_to_the_terminal(archive: LocalStore, capsys: Output) -> None:
    """Whoever can write to the archive writes a job's status."""
    put(archive, 30, SessionMarker(start_ms=5, ray_version="\x1b[2J", jobs=[JobSummary("a", "\x1b]0;x\x07")]))

    assert main(["sessions"]) == 0
    assert "\x1b" not in capsys.readouterr().out
