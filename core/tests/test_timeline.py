"""The timeline of a real cluster is what its dashboard answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from rayhist import timeline
from rayhist.index import Index, IndexWriter
from rayhist.query import BadQuery
from rayhist.resources import TASKS
from rayhist_testkit.recordings import RAY_2_60, RecordedAnswer, Recording


def _recorded() -> list[Any]:
    answers = [one for one in Recording(RAY_2_60).answers() if "/timeline" in one.path]
    return [pytest.param(one, id=one.path[8:]) for one in answers if not one.browser]


def _named(trace: list[dict[str, Any]]) -> list[str]:
    """The spans with their nodes' and workers' names for numbers, which depend on the tasks' order."""
    nodes = {one["pid"]: one["args"]["name"] for one in trace if one["name"] == "process_name"}
    workers = {one["tid"]: one["args"]["name"] for one in trace if one["name"] == "thread_name"}
    spans = [one for one in trace if one["ph"] == "X"]
    return sorted(str({**one, "pid": nodes[one["pid"]], "tid": workers[one["tid"]]}) for one in spans)


@pytest.mark.parametrize("answer", _recorded())
def test_a_timeline_is_what_ray_answered(listed: Index, answer: RecordedAnswer) -> None:
    """Every span of every task, in microseconds, and the names of nodes and workers."""
    job = parse_qs(urlsplit(answer.path).query).get("job_id", [None])[0]
    found = msgspec.json.decode(msgspec.json.encode(timeline.events(listed, job)))

    assert [set(one) for one in found] == [set(one) for one in answer.value]
    assert len(found) == len(answer.value)
    assert _named(found) == _named(answer.value)


def test_timelines_of_all_and_of_each_job_were_compared() -> None:
    assert len(_recorded()) >= 15


def test_a_job_id_that_is_none_is_refused(listed: Index) -> None:
    with pytest.raises(BadQuery, match="Non-hexadecimal digit"):
        timeline.events(listed, "../etc")


def test_extra_data_names_and_colours_a_span(tmp_path: Path) -> None:
    spans = [
        {
            "event_name": "a",
            "start_time": 1.0,
            "end_time": 3.0,
            "extra_data": {"name": "mine", "cname": "ray.get"},
        },
        {"event_name": "ray.put", "start_time": 1.0, "end_time": 1.5, "extra_data": {"cname": ["odd"]}},
    ]
    profile = {
        "component_type": "worker",
        "component_id": "ab",
        "node_ip_address": "10.0.0.1",
        "events": spans,
    }
    row = {"task_id": "00", "attempt_number": 0, "job_id": "01", "func_or_class_name": "f"}
    writer = IndexWriter(tmp_path / "index.sqlite")
    others = [
        {**row, "profiling_data": {**profile, "component_type": "raylet"}},
        {**row, "profiling_data": {}},
    ]
    writer.rows(TASKS, [{**row, "profiling_data": profile}, *others])
    writer.finish()
    named, odd, node, worker = timeline.events(Index(tmp_path / "index.sqlite"))

    assert isinstance(named, timeline.Event)
    assert isinstance(odd, timeline.Event)
    assert (named.name, named.cname, named.ts, named.dur) == ("mine", "good", 1000.0, 2000.0)
    assert odd.cname == "generic_work"
    assert node == timeline.Name("process_name", {"name": "Node 10.0.0.1"}, 0)
    assert worker == timeline.Name("thread_name", {"name": "worker:ab"}, 0, 0)
