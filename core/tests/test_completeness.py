"""The completeness report says what is there, what is missing, and why."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from rayhist import codec, completeness, layout, logpack
from rayhist.completeness import Completeness, NodeRecord
from rayhist.ids import Session
from rayhist.index import Index
from rayhist.manifest import Ending, Loss, NodeManifest, SessionMarker, Stored
from rayhist.memory import MemoryStore
from rayhist.replay import replay
from rayhist_testkit import generator

SHAPE = generator.Shape(tasks=20, jobs=1, nodes=2, workers=2)
END_MS = generator.START_NS // 1_000_000 + 60_000


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def session(store: MemoryStore) -> Session:
    """A session that ended; every node has events, a log file, and a manifest that says just that."""
    session = asyncio.run(generator.lay_out(store, SHAPE))
    put(store, layout.Marker(session), SessionMarker(end_ms=END_MS, ending=Ending.CLEAN))
    for node in nodes_of(store):
        asyncio.run(store.put(layout.key(layout.LogFile(session, node, "raylet.out")), b"0123456789"))
        put(store, layout.NodeManifest(session, node), manifest(node))
    return session


def nodes_of(store: MemoryStore) -> list[str]:
    async def keys() -> list[str]:
        return [info.key async for info in store.list_objects(layout.HISTORY)]

    references = map(layout.parse, asyncio.run(keys()))
    return sorted({one.node for one in references if isinstance(one, layout.EventFile)})


def manifest(node: str, **facts: object) -> NodeManifest:
    given = {"node_id": node, "ending": Ending.CLEAN, "logs": {"raylet.out": {"count": 1, "bytes": 10}}}
    return msgspec.convert(given | facts, NodeManifest)


def put(store: MemoryStore, reference: layout.Reference, document: object) -> None:
    asyncio.run(store.put(layout.key(reference), msgspec.json.encode(document)))


def report(store: MemoryStore, session: Session, folder: Path) -> Completeness:
    asyncio.run(replay(store, session, folder / "index"))
    return completeness.report(Index(folder / "index"))


def node_of(found: Completeness, node: str) -> NodeRecord:
    [one] = [one for one in found.nodes if one.node_id == node]
    return one


def known(gaps: list[str]) -> list[str]:
    """Without the sentences about the dashboard's answers: the generated archive has none."""
    return [gap for gap in gaps if "answer of the dashboard" not in gap]


def test_of_a_whole_archive_nothing_is_missing(store: MemoryStore, session: Session, tmp_path: Path) -> None:
    found = report(store, session, tmp_path)
    assert [known(found.gaps), *(node.gaps for node in found.nodes)] == [[], [], []]
    assert all(node.has_manifest and node.logs == completeness.Logs(1, 10, 0) for node in found.nodes)


def test_the_events_of_each_node_are_counted_by_type_with_their_times(
    store: MemoryStore, session: Session, tmp_path: Path
) -> None:
    found = report(store, session, tmp_path)
    lines = list(generator.events(SHAPE))
    for node in found.nodes:
        own = [line for line in lines if line.node == node.node_id]
        types = Counter(msgspec.json.decode(line.data)["eventType"] for line in own)
        assert {name: stored.count for name, stored in node.events.items()} == types
        assert sum(stored.bytes for stored in node.events.values()) == sum(len(line.data) for line in own)
        for stored in node.events.values():
            assert generator.START_NS // 1_000_000 <= stored.first_ms <= stored.last_ms <= END_MS


def test_what_a_collector_lost_is_named_with_its_reason_and_time(
    store: MemoryStore, session: Session, tmp_path: Path
) -> None:
    node = nodes_of(store)[0]
    loss = Loss("TASK_LIFECYCLE_EVENT", "dropped inside Ray: buffer full", 4200, END_MS - 1000, END_MS)
    put(
        store,
        layout.NodeManifest(session, node),
        manifest(node, losses=[msgspec.to_builtins(loss)], warnings=["The clock was set back."]),
    )
    found = report(store, session, tmp_path)
    lost, warned = node_of(found, node).gaps
    assert lost.startswith(
        "Lost: 4,200 of TASK_LIFECYCLE_EVENT (dropped inside Ray: buffer full), from 2026-01-"
    )
    assert warned == "The clock was set back."
    assert not found.complete
    assert "something of 1 of 2 nodes is missing" in found.verdict


def test_a_node_that_died_with_bytes_on_its_disk_is_told(
    store: MemoryStore, session: Session, tmp_path: Path
) -> None:
    node = nodes_of(store)[0]
    put(
        store,
        layout.NodeManifest(session, node),
        manifest(node, ending=Ending.RUNNING, last_seen_ms=END_MS, pending_bytes=5000),
    )
    silent, pending = node_of(report(store, session, tmp_path), node).gaps
    assert "ended without a word" in silent
    assert pending.startswith("5,000 bytes")


def test_events_and_log_bytes_that_never_arrived_are_missed(
    store: MemoryStore, session: Session, tmp_path: Path
) -> None:
    node = nodes_of(store)[0]
    asyncio.run(store.delete(layout.key(layout.LogFile(session, node, "raylet.out"))))
    recorded = {"TASK_DEFINITION_EVENT": Stored(count=1_000_000)}
    put(store, layout.NodeManifest(session, node), manifest(node, events=msgspec.to_builtins(recorded)))
    gaps = node_of(report(store, session, tmp_path), node).gaps
    assert gaps[0] == "It has no log files."
    assert gaps[1].endswith("of the 1,000,000 events that it recorded are not in the archive.")
    assert gaps[2] == "10 of the 10 bytes of logs that it recorded are not in the archive."


def test_a_hole_in_a_log_file_is_told_by_file(store: MemoryStore, session: Session, tmp_path: Path) -> None:
    node = nodes_of(store)[0]
    pack = tmp_path / "pack.zip"
    with logpack.PackWriter(pack) as writer:
        writer.name(logpack.PackedFile("1-2", "worker.out"))
        writer.add("1-2", 100, b"x" * 20)
    asyncio.run(store.put(layout.key(layout.LogPack(session, node, END_MS, 1)), pack.read_bytes()))
    found = node_of(report(store, session, tmp_path), node)
    assert found.logs == completeness.Logs(2, 130, 100)
    assert found.gaps == ["The log file worker.out lacks 100 of its 120 bytes."]


def test_damaged_objects_and_bad_events_are_counted(
    store: MemoryStore, session: Session, tmp_path: Path
) -> None:
    node = nodes_of(store)[0]
    for number, body in enumerate((codec.encode([b"{}", b"{}"]), b"\x1f\x8bnot gzip")):
        reference = layout.EventFile(session, node, "", "2026-01-02-03", 7 + number)
        asyncio.run(store.put(layout.key(reference), body))
    gaps = known(report(store, session, tmp_path).gaps)
    assert gaps == ["2 objects of the archive cannot be read in full.", "2 events cannot be understood."]


def test_without_manifests_that_is_said_once_and_for_a_single_node_there(
    store: MemoryStore, session: Session, tmp_path: Path
) -> None:
    first, second = nodes_of(store)
    asyncio.run(store.delete(layout.key(layout.NodeManifest(session, first))))
    assert node_of(report(store, session, tmp_path), first).gaps == [
        "It has no manifest, so nothing tells what it lost."
    ]
    asyncio.run(store.delete(layout.key(layout.NodeManifest(session, second))))
    (tmp_path / "index").unlink()
    found = report(store, session, tmp_path)
    assert [gap.partition(" (")[0] for gap in known(found.gaps)] == ["No node left a manifest"]
    assert [node.gaps for node in found.nodes] == [[], []]


def test_while_a_session_goes_on_what_is_pending_is_no_gap(
    store: MemoryStore, session: Session, tmp_path: Path
) -> None:
    put(store, layout.Marker(session), SessionMarker(last_seen_ms=2**42, heartbeat_interval_s=30))
    for node in nodes_of(store):
        put(store, layout.NodeManifest(session, node), manifest(node, ending="", pending_bytes=9))
    found = report(store, session, tmp_path)
    assert [node.gaps for node in found.nodes] == [[], []]
    assert found.verdict.startswith("The session goes on. ")
