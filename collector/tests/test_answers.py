"""The last good answer of each endpoint is kept, and its history in bounded space."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rayhist import codec, layout
from rayhist.clock import Clock
from rayhist.errors import BadIdentifier
from rayhist.ids import Cluster, Session
from rayhist.source import Answer, Published, digest_of
from rayhist_collector.answers import AnswerFiles
from rayhist_collector.spool import Spool

SESSION = "session_2026-11-30_15-25-10_490256_10672"
SERVE = "/api/serve/applications/"
FULL: dict[str, Any] = {"applications": {"app1": {"status": "RUNNING"}}}
EMPTY: dict[str, Any] = {"applications": {}}


@pytest.fixture
def files(spool: Spool, cluster: Cluster, clock: Clock) -> AnswerFiles:
    return AnswerFiles(spool, cluster, clock)


def _answer(endpoint: str, body: object, at_ms: int = 1_796_052_310_000, status: int = 200) -> Answer:
    return Answer(endpoint, at_ms, status, msgspec.Raw(json.dumps(body).encode()))


def _last_good(spool: Spool) -> dict[str, Any]:
    found = {}
    for key in spool.sealed_keys():
        reference, entry = layout.parse(key), spool.look(key)
        assert entry is not None
        if isinstance(reference, layout.FetchedEndpoint):
            found[reference.endpoint] = json.loads(entry.sealed.path.read_bytes())
    return found


def _lines(spool: Spool) -> list[dict[str, Any]]:
    found = []
    for key in spool.sealed_keys():
        entry = spool.look(key)
        assert entry is not None
        if isinstance(layout.parse(key), layout.SnapshotFile):
            found += map(json.loads, codec.decode(entry.sealed.path.read_bytes(), codec.Damage()))
    return found


def _history(spool: Spool) -> list[tuple[str, int, Any]]:
    answers = [line for line in _lines(spool) if "body" in line]
    return [(answer["endpoint"], answer["status"], answer["body"]) for answer in answers]


def _dates(spool: Spool) -> list[Published]:
    return [msgspec.convert(line, Published) for line in _lines(spool) if "body" not in line]


def test_the_last_good_answer_is_published_under_the_endpoints_one_name(
    spool: Spool, files: AnswerFiles
) -> None:
    files.add(SESSION, [_answer("/api/jobs/?limit=1&detail=1&nocache=1", [1])])
    files.add(SESSION, [_answer("/api/jobs?detail=1&limit=1", [2])])
    files.publish()
    assert _last_good(spool) == {"/api/jobs?detail=1&limit=1": [2]}


def test_what_is_published_is_dated(spool: Spool, files: AnswerFiles) -> None:
    """The object cannot say when it was fetched, and being copied makes it look new."""
    big = {"x": "y" * 50_000}
    files.add(SESSION, [_answer("/nodes?view=summary", big)])
    files.add(SESSION, [later := _answer("/nodes?view=summary", big | {"now": 1}, 1_796_052_311_000)])
    files.publish()
    assert len(_history(spool)) == 1, "the second is thinned out"
    assert _dates(spool) == [Published("/nodes?view=summary", 1_796_052_311_000, digest_of(later.body))]


def test_a_restarted_collector_still_knows_when(
    spool: Spool, files: AnswerFiles, cluster: Cluster, clock: Clock
) -> None:
    files.add(SESSION, [_answer("/timezone", {"value": "UTC"})])
    AnswerFiles(spool, cluster, clock).recover()
    [kept] = spool.kept.rglob("restful__timezone")
    assert [date.published_at for date in _dates(spool)] == [int(kept.stat().st_mtime * 1000)]


def test_only_what_changed_is_stored(spool: Spool, files: AnswerFiles) -> None:
    assert len(files.add(SESSION, [_answer(SERVE, FULL)])) == 1
    assert files.add(SESSION, [_answer(SERVE, FULL, 1_796_052_399_000)]) == []
    files.publish()
    assert files.publish() == [], "nothing is new"
    files.seal()
    assert len(_history(spool)) == 1


@pytest.mark.parametrize(
    ("endpoint", "full", "empty"),
    [
        (SERVE, FULL, EMPTY),
        ("/api/data/datasets/01000000", {"datasets": [{"dataset": "x"}]}, {"datasets": []}),
        ("/api/train/v2/runs/v1", {"train_runs": [{"id": 1}]}, {"train_runs": []}),
    ],
)
def test_a_full_answer_is_never_overwritten_by_an_empty_one(
    spool: Spool, cluster: Cluster, clock: Clock, *, endpoint: str, full: Any, empty: Any
) -> None:
    """Serve's controller dies before the cluster does; also not after a restart of the collector."""
    files = AnswerFiles(spool, cluster, clock)
    files.add(SESSION, [_answer(endpoint, empty)])
    files.add(SESSION, [_answer(endpoint, full, 1_796_052_311_000)])
    files.add(SESSION, [_answer(endpoint, empty, 1_796_052_399_000)])
    restarted = AnswerFiles(spool, cluster, clock)
    restarted.recover()
    restarted.add(SESSION, [_answer(endpoint, empty, 1_796_052_499_000)])
    restarted.publish()
    restarted.seal()
    assert _last_good(spool) == {layout.canonical_endpoint(endpoint): full}
    assert _history(spool)[-1][2] == full


def test_an_error_is_history_but_never_the_last_good_answer(spool: Spool, files: AnswerFiles) -> None:
    files.add(SESSION, [_answer(SERVE, FULL)])
    files.add(SESSION, [_answer(SERVE, "broken", 1_796_052_399_000, status=500)])
    files.publish()
    files.seal()
    assert _last_good(spool) == {"/api/serve/applications": FULL}
    assert [status for _, status, _ in _history(spool)] == [200, 500]


def test_the_history_of_a_big_answer_that_always_changes_is_thinned(spool: Spool, files: AnswerFiles) -> None:
    """A day of a hundred kilobytes every five seconds would be two gigabytes."""
    for second in range(0, 1800, 5):
        body = {"now": second, "x": "y" * 50_000}
        files.add(SESSION, [_answer("/nodes?view=summary", body, 1_796_052_310_000 + second * 1000)])
    files.publish()
    files.seal()
    assert 50 < len(_history(spool)) < 100
    assert _last_good(spool)["/nodes?view=summary"]["now"] == 1795, "the last one is kept all the same"


def test_many_nodes_share_the_room_of_one(spool: Spool, files: AnswerFiles) -> None:
    for at_ms in range(1_796_052_310_000, 1_796_052_610_000, 20_000):
        files.add(
            SESSION,
            [_answer(f"/nodes/{node:056x}", {"at": at_ms, "x": "y" * 10_000}, at_ms) for node in range(40)],
        )
    files.seal()
    assert len(_history(spool)) < 100


def test_what_a_crash_left_open_is_sealed_at_the_next_start(
    spool: Spool, files: AnswerFiles, cluster: Cluster, clock: Clock
) -> None:
    files.add(SESSION, [_answer("/timezone", {"value": "UTC"})])
    AnswerFiles(spool, cluster, clock).recover()
    assert _last_good(spool) == {"/timezone": {"value": "UTC"}}
    assert _history(spool) == [("/timezone", 200, {"value": "UTC"})]


def test_a_session_that_is_over_is_sealed_published_and_forgotten(
    spool: Spool, files: AnswerFiles, cluster: Cluster
) -> None:
    files.add(SESSION, [_answer("/timezone", {"value": "UTC"})])
    assert len(files.close(SESSION)) == 2
    assert not (spool.kept / layout.session_prefix(Session(cluster, SESSION))).exists()
    assert files.publish() == files.seal() == []


def test_a_session_name_that_is_none_is_refused(files: AnswerFiles) -> None:
    with pytest.raises(BadIdentifier):
        files.add("../../etc", [_answer("/timezone", {})])


def test_an_endpoint_that_cannot_be_a_key_costs_only_itself(spool: Spool, files: AnswerFiles) -> None:
    long = "/api/v0/tasks?" + "x" * 500
    assert len(files.add(SESSION, [_answer(long, 1), _answer("/timezone", 2)])) == 1


def test_nothing_is_written_outside_the_session(tmp_path: Path, spool: Spool, files: AnswerFiles) -> None:
    files.add(SESSION, [_answer("/../../../../escape", 1), _answer("/a/../b", 1)])
    files.publish()
    files.seal()
    session = spool.root / "sealed" / "cluster-history" / "raycluster" / "ns" / "c" / SESSION
    assert all((spool.root / "sealed" / key).is_relative_to(session) for key in spool.sealed_keys())
    assert {path.name for path in tmp_path.iterdir()} == {"spool"}
