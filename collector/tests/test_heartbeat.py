"""What the marker and the manifest say, and what the operator is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rayhist import layout
from rayhist.clock import Clock
from rayhist.config import Collector
from rayhist.ids import Cluster, Session
from rayhist.manifest import Ending, Loss, NodeManifest, SessionMarker, Stored
from rayhist.source import Answer
from rayhist_collector import ray_drops
from rayhist_collector.chronicle import Chronicle, Life
from rayhist_collector.facts import Facts
from rayhist_collector.ledger import Ledger
from rayhist_collector.sessions import Glimpse
from rayhist_collector.spool import Spool
from rayhist_testkit.recordings import RAY_2_60, Recording

SESSION = "session_2026-11-30_15-25-10_490256_10672"
AS_IF_UTC_MS = 1_796_052_310_490
TEACHERS = ["/api/version", "/api/v0/cluster_metadata", "/timezone", "/cluster_id", "/api/jobs/"]
NODE = "14b8ed7feb82b6199f6c08539de26a4ef141b30849983bbe4bb42790"


@pytest.fixture
def chronicle(spool: Spool, cluster: Cluster) -> Chronicle:
    return Chronicle(spool, cluster, Collector(labels={"team": "a"}))


def _marker(document: Any) -> SessionMarker:
    return msgspec.json.decode(document.data, type=SessionMarker)


def _answer(endpoint: str, body: object, status: int = 200) -> Answer:
    return Answer(endpoint, 1, status, msgspec.Raw(json.dumps(body).encode()))


def test_the_facts_are_learnt_from_what_a_real_dashboard_answered() -> None:
    recording, facts = Recording(RAY_2_60), Facts()
    for path in TEACHERS:
        facts.learn(Answer(path, 1, 200, recording.answer(path).json))
    assert (facts.ray_version, facts.offset, facts.timezone) == ("2.60.0", "+00:00", "Europe/London")
    assert facts.python_version.startswith("3.")
    assert len(facts.cluster_uid) == 56
    assert {job.status for job in facts.jobs} >= {"SUCCEEDED", "FAILED", "STOPPED"}
    assert len(facts.jobs) <= 50


@pytest.mark.parametrize(
    "endpoint", ["/api/version", "/api/v0/cluster_metadata", "/timezone", "/cluster_id", "/api/jobs/"]
)
@pytest.mark.parametrize("body", [None, [], {}, 1, "x", [1], [None], {"data": None}])
def test_answers_of_another_shape_teach_nothing(endpoint: str, body: object) -> None:
    facts = Facts()
    facts.learn(_answer(endpoint, body))
    facts.learn(_answer(endpoint, {"ray_version": "9", "value": "x", "offset": "+01:00"}, status=500))
    assert facts == Facts()


def test_the_stated_offset_puts_the_start_right(chronicle: Chronicle) -> None:
    """Before the dashboard answers, the files' times have to do."""
    early = chronicle.marker(SESSION, Glimpse(start_ms=5), Facts(), "", Life(10**13))
    assert _marker(early).start_ms == 5
    later = chronicle.marker(SESSION, Glimpse(start_ms=5), Facts(offset="+02:00"), "", Life(10**13))
    assert _marker(later).start_ms == AS_IF_UTC_MS - 2 * 3600 * 1000


def test_what_was_known_stays_known_also_for_the_next_run(
    chronicle: Chronicle, spool: Spool, cluster: Cluster
) -> None:
    """A collector restarted after the head's death knows no version, and must not blank it."""
    document = chronicle.marker(
        SESSION, Glimpse(), Facts(ray_version="2.60.0", timezone="UTC"), NODE, Life(1000)
    )
    assert document.state is not None
    spool.write(document.state, document.data)
    restarted = Chronicle(spool, cluster, Collector())
    restarted.load()
    again = _marker(restarted.marker(SESSION, Glimpse(), Facts(), "", Life(500, Ending.REPLACED)))
    assert (again.ray_version, again.timezone, again.head_node) == ("2.60.0", "UTC", NODE)
    assert (again.last_seen_ms, again.end_ms, again.ending) == (1000, 500, Ending.REPLACED)
    assert restarted.has_ended(SESSION)


def test_a_marker_carries_labels_and_its_rhythm(chronicle: Chronicle, cluster: Cluster) -> None:
    document = chronicle.marker(SESSION, Glimpse(), Facts(), "", Life(1))
    assert document.key == layout.key(layout.Marker(Session(cluster, SESSION)))
    made = _marker(document)
    assert (made.labels, made.heartbeat_interval_s) == ({"team": "a"}, Collector().heartbeat_interval_s)


def test_a_manifest_is_written_when_it_changed_or_seldom(
    chronicle: Chronicle, spool: Spool, clock: Clock
) -> None:
    ledger = Ledger(spool, clock)
    account = ledger.touch(SESSION, NODE)

    def written(life: Life | None = None) -> bool:
        made = chronicle.manifest(account, "head", life or Life(1), warnings=[], pending_bytes=0)
        return made is not None

    assert written()
    assert [written() for _ in range(11)] == [False] * 10 + [True]
    ledger.lost(SESSION, NODE, "events", "quarantined", 3)
    assert written()
    assert written(Life(2, Ending.REPLACED))
    assert not any(written(Life(2, Ending.REPLACED)) for _ in range(30)), "it is over"


def test_losses_add_up_and_early_ones_are_not_forgotten(spool: Spool, clock: Clock) -> None:
    """What was lost before the node's id was known stands in its manifest later."""
    ledger = Ledger(spool, clock)
    ledger.lost(SESSION, "", "events", "early", 2)
    ledger.lost(SESSION, "", "events", "early", 3)
    assert ledger.accounts() == []
    ledger.touch(SESSION, NODE)
    ledger.lost(SESSION, NODE, "events", "late", 1)
    [account] = ledger.accounts()
    assert [(loss.reason, loss.count) for loss in account.losses] == [("late", 1), ("early", 5)]


def test_what_ray_dropped_itself_is_read_from_its_counters(spool: Spool, clock: Clock) -> None:
    """They only grow, and are asked again and again: they are taken over, not added up."""
    name = b"ray_aggregator_agent_queue_dropped_events_total"
    page = b"""# HELP %(name)s Number of events dropped
%(name)s{Version="2.60.0",consumer="http_service",event_type="TASK_LIFECYCLE_EVENT",ip="1.2.3.4"} 57138.0
%(name)s{consumer="http_service",event_type="TASK_DEFINITION_EVENT"} 3.072e+04
%(name)s{consumer="http_service",event_type="TASK_PROFILE_EVENT"} 0.0
%(name)s{consumer="gcs",event_type="TASK_DEFINITION_EVENT"} 5.0
other_total{event_type="X"} 9.0
""" % {b"name": name}
    assert ray_drops.read(page) == {"TASK_LIFECYCLE_EVENT": 57138, "TASK_DEFINITION_EVENT": 30720}
    ledger = Ledger(spool, clock)
    for count in (5, 5, 8):
        ledger.lost_so_far(SESSION, NODE, "TASK_LIFECYCLE_EVENT", "dropped inside Ray", count)
    [account] = ledger.accounts()
    assert [loss.count for loss in account.losses] == [8]


def test_an_agent_that_cannot_be_asked_is_no_error(tmp_path: Path) -> None:
    assert ray_drops.dropped(tmp_path, NODE, "") == {}
    (tmp_path / f"metrics_export_port_{NODE}").write_text("1")
    assert ray_drops.dropped(tmp_path, NODE, "127.0.0.1") == {}


def test_counts_go_on_after_a_restart(spool: Spool, clock: Clock) -> None:
    ledger = Ledger(spool, clock)
    ledger.add_events(SESSION, NODE, {"TASK_LIFECYCLE_EVENT": Stored(2, 20, 5, 6)})
    ledger.add_log_file(SESSION, NODE, "debug_state.txt", 100)
    for path, data in ledger.changes():
        spool.write(path, data)
    restarted = Ledger(spool, clock)
    restarted.load()
    restarted.add_events(SESSION, NODE, {"TASK_LIFECYCLE_EVENT": Stored(1, 10, 7, 8)})
    [account] = restarted.accounts()
    made: NodeManifest = account.manifest()
    assert made.events == {"TASK_LIFECYCLE_EVENT": Stored(3, 30, 5, 8)}
    assert made.logs["debug_state.txt"].bytes == 100


def test_a_broken_state_file_costs_only_itself(spool: Spool, clock: Clock) -> None:
    folder = spool.state("ledger")
    (folder / "a.json").write_bytes(b"{")
    (folder / "b.json").write_text('{"session": "../x", "node": ""}')
    ledger = Ledger(spool, clock)
    ledger.load()
    assert ledger.accounts() == []


def test_hostile_numbers_of_types_and_losses_are_bounded(spool: Spool, clock: Clock) -> None:
    ledger = Ledger(spool, clock)
    for number in range(1500):
        ledger.add_events(SESSION, NODE, {f"TYPE_{number}": Stored(1, 1, 1, 1)})
        ledger.lost(SESSION, NODE, f"file {number}", "unreadable", 1)
    [account] = ledger.accounts()
    assert len(account.events) <= 201
    assert sum(stored.count for stored in account.events.values()) == 1500
    assert len(account.losses) <= 1000
    assert isinstance(account.losses[0], Loss)
