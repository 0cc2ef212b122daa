"""What is recorded has no secrets of runtime environments, wherever it comes in, unless the file says so."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rayhist.clock import Clock
from rayhist.config import Redaction
from rayhist.ids import Cluster
from rayhist.logpack import PackWriter
from rayhist.redaction import Redactor, rules
from rayhist.source import Answer
from rayhist_collector.answers import AnswerFiles
from rayhist_collector.event_intake import EventIntake
from rayhist_collector.log_scan import scan
from rayhist_collector.spool import Spool
from rayhist_collector.tail import Mask, Tail

SESSION = "session_2026-11-30_15-25-10_490256_10672"
MEMBER = re.compile("ranges/")
SECRET = "hunter2-very-secret"
ENVIRONMENT = {"env_vars": {"PLAIN": "1", "API_TOKEN": SECRET}}


@pytest.fixture
def redactor() -> Redactor:
    return Redactor(rules(Redaction()))


def test_a_posted_event_loses_its_secret_and_nothing_else(
    spool: Spool, clock: Clock, redactor: Redactor, make_event: Callable[..., dict[str, Any]]
) -> None:
    made = make_event(1, "TASK_DEFINITION_EVENT")
    made["taskDefinitionEvent"]["serializedRuntimeEnv"] = json.dumps(ENVIRONMENT)
    others = [json.dumps(make_event(number)).encode() for number in (2, 3)]
    line = json.dumps(made).encode()
    intake = EventIntake(spool, clock, redactor)
    intake.store([others[0], line, others[1]])
    [finished] = intake.finished(everything=True)
    assert finished.path.read_bytes().splitlines() == [
        others[0],
        line.replace(SECRET.encode(), b"<redacted>"),
        others[1],
    ]


def test_what_goes_to_quarantine_has_no_secret_either(spool: Spool, clock: Clock, redactor: Redactor) -> None:
    body = json.dumps({"eventType": "", "x": {"serializedRuntimeEnv": json.dumps(ENVIRONMENT)}}).encode()
    outcome = EventIntake(spool, clock, redactor).store([body, body[:-30]])
    assert sum(outcome.quarantined.values()) == 2
    kept = (spool.quarantine / "events.jsonl").read_bytes()
    assert b"API_TOKEN" in kept
    assert SECRET.encode() not in kept


def test_answers_are_redacted_in_both_places_where_they_are_kept(
    spool: Spool, clock: Clock, cluster: Cluster, redactor: Redactor
) -> None:
    files = AnswerFiles(spool, cluster, clock, redactor)
    body = json.dumps([{"job_id": "01000000", "runtime_env": ENVIRONMENT}]).encode()
    taken = files.add(SESSION, [Answer("/api/jobs/", clock.time_ms(), 200, msgspec.Raw(body))])
    assert SECRET.encode() not in bytes(taken[0].body)
    keys = [*files.seal(), *files.publish()]
    contents = [spool.look(key) for key in keys]
    bodies = [entry.sealed.path.read_bytes() for entry in contents if entry]
    assert len(bodies) == 3
    for found in bodies:
        plain = gzip.decompress(found) if found[:2] == b"\x1f\x8b" else found
        assert SECRET.encode() not in plain
        assert b"<redacted>" in plain or b"published_at" in plain


@pytest.mark.parametrize("cut", range(0, 400, 13))
def test_a_log_is_masked_though_it_is_read_in_pieces(tmp_path: Path, redactor: Redactor, cut: int) -> None:
    """Wherever one range ends and the next begins: each byte keeps its place, no part of a secret stays."""
    line = json.dumps({"event_data": {"runtime_env_json": json.dumps(ENVIRONMENT)}}).encode() + b"\n"
    path = tmp_path / "logs" / "export_events" / "event_EXPORT_SUBMISSION_JOB.log"
    path.parent.mkdir(parents=True)
    tail = Tail(tmp_path / "logs", [], lambda _: None, Mask(("export_events/*",), redactor.mask))
    content = b"first\n" + line * 3
    found = b""
    written = 0
    for number, size in enumerate((len(content) - 400 + cut, len(content))):
        with path.open("ab") as file:
            file.write(content[written:size])
        written = size
        assert tail.look(scan(tmp_path / "logs").entries, number)
        packed = tmp_path / f"{number}.zip"
        pack = PackWriter(packed)
        assert not tail.record(pack, most_bytes=1 << 20, most_per_file=1 << 20)
        tail.commit()
        pack.close()
        with zipfile.ZipFile(packed) as opened:
            found += b"".join(map(opened.read, filter(MEMBER.match, opened.namelist())))
    assert len(found) == len(content)
    assert SECRET[8:].encode() not in found
    masked = line.replace(SECRET.encode(), b"<redacted>*********")
    assert found == b"first\n" + masked * 3


@pytest.mark.services
def test_a_real_collector_redacts_unless_it_is_told_not_to(
    make_process: Callable[..., Any],
    make_event: Callable[..., dict[str, Any]],
    tmp_path: Path,
) -> None:
    made = make_event(1, "ACTOR_DEFINITION_EVENT")
    made["actorDefinitionEvent"]["serializedRuntimeEnv"] = json.dumps(ENVIRONMENT)
    for enabled in (True, False):
        process = make_process(tmp_path / str(enabled), role="head", sources=["ray-events"])
        process.start(RAYHIST__REDACTION__ENABLED=json.dumps(enabled))
        assert process.post(json.dumps([made]).encode()) == 200
        assert process.stop() == 0
        [data] = [data for key, data in process.objects().items() if key.endswith(".jsonl.gz")]
        assert (SECRET.encode() in gzip.decompress(data)) is not enabled


def test_the_trial_shows_what_goes_and_not_what_it_was(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    lines = [{"n": 1}, {"serializedRuntimeEnv": json.dumps(ENVIRONMENT)}, {"env_vars": {"X": "acme-1"}}]
    file.write_text("\n".join(map(json.dumps, lines)))
    run = subprocess.run(
        [sys.executable, "-m", "rayhist.cli", "collect", "--redaction-test", str(file)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"RAYHIST__REDACTION__VALUES": '["acme-"]'},
    )
    assert SECRET not in run.stdout
    assert "acme" not in run.stdout
    first, second, last = run.stdout.splitlines()
    assert first.startswith("line 2: API_TOKEN: 19 characters, by its name: …")
    assert second.startswith("line 3: X: 6 characters, by its value: …")
    assert last == f"2 secrets would be redacted in {file}; every other byte stays"
