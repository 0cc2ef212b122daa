"""Questions about logs: which files there are, what is in each kind of file, and what each thing wrote."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote

from rayhist_testkit.fidelity.known import Known, Node
from rayhist_testkit.fidelity.question import Question, ask

FILE = "/api/v0/logs/file"
_GLOBS = (
    *("*", "**", "*out*", "raylet*", "*.log", "events/*", "old/*", "serve/*", "export_events/*"),
    *("nosuch*", "../*", "/etc/*", "", "[", "worker-[0-9]*"),
)
_UNKNOWN_NODE = "f" * 56
_VARYING = re.compile(r"[0-9a-f]{8,}|\d+")
_OF_A_FILE = (
    "filename=raylet.out",
    "filename=raylet.out&lines=-1",
    "filename=raylet.out&lines=3",
    "filename=raylet.out&lines=0",
    "filename=raylet.out&lines=50000",
    "filename=raylet.out&lines=abc",
    "filename=raylet.out&lines=3&download_filename=x%22y.txt",
    "filename=raylet.out&suffix=bad",
    "filename=raylet.out&filter_ansi_code=bogus",
    "filename=nosuch.log",
    "filename=..%2F..%2F..%2Fetc%2Fpasswd",
    "filename=%2Fetc%2Fpasswd",
    "filename=events",
    "filename=",
    "",
)


def listings(known: Known) -> Iterator[Question]:
    yield Question("/api/v0/logs")
    yield ask("/api/v0/logs", node_id=_UNKNOWN_NODE)
    yield ask("/api/v0/logs", node_ip="10.255.255.254")
    for node in known.nodes:
        yield ask("/api/v0/logs", node_id=node.id)
        yield ask("/api/v0/logs", node_ip=node.ip)
        yield from (ask("/api/v0/logs", node_id=node.id, glob=glob) for glob in _GLOBS)


def files(known: Known) -> Iterator[Question]:
    """A file of each kind of each node, as the log page shows it and downloads it; then what is wrong."""
    for node in known.nodes:
        for name in _one_of_each_kind(node):
            at = f"{FILE}?node_id={node.id}&filename={quote(name, safe='')}"
            yield Question(f"{at}&lines=50&filter_ansi_code=true")
            yield Question(f"{at}&lines=-1")
    for node in known.nodes:
        yield from (Question(f"{FILE}?node_id={node.id}&{query}") for query in _OF_A_FILE)
    yield Question(f"{FILE}?node_ip={known.head.ip}&filename=raylet.out&lines=3")
    yield Question(f"{FILE}?node_id={_UNKNOWN_NODE}&filename=raylet.out")
    yield Question(FILE)


def output(known: Known) -> Iterator[Question]:
    """What each task, actor, process and submission wrote."""
    for task in known.tasks.values():
        for suffix in ("out", "err"):
            at = f"{FILE}?task_id={task}&suffix={suffix}"
            for more in ("", "&attempt_number=1", "&attempt_number=9"):
                yield Question(f"{at}&lines=50000&filter_ansi_code=true{more}")
            yield from (Question(f"{at}&lines={lines}") for lines in (-1, 0, 1, 2))
    for actor in known.named_actors.values():
        for suffix in ("out", "err"):
            yield Question(f"{FILE}?actor_id={actor}&suffix={suffix}&lines=50000&filter_ansi_code=true")
        yield Question(f"{FILE}?actor_id={actor}&lines=-1")
    for node, pid in known.workers:
        yield Question(f"{FILE}?node_id={node}&pid={pid}&lines=-1")
    for submission in known.submissions:
        yield Question(f"{FILE}?submission_id={submission}&lines=50000")
        yield Question(f"{FILE}?submission_id={submission}&lines=-1&suffix=err")
    head = known.head.id
    yield Question(f"{FILE}?pid=1&node_id={head}")
    yield from (Question(f"{FILE}?{name}=nosuch") for name in ("task_id", "actor_id", "pid", "submission_id"))
    yield Question(f"{FILE}?task_id={'f' * 48}")
    yield Question(f"{FILE}?actor_id={'f' * 32}")


def _one_of_each_kind(node: Node) -> Iterator[str]:
    """Files whose names differ in ids and numbers alone are of one kind."""
    seen = set()
    for name in node.log_files:
        kind = _VARYING.sub("#", name)
        if kind not in seen:
            seen.add(kind)
            yield name
