"""Tasks that succeed, fail, are retried, crash, are nested, cancelled, infeasible, waiting, running."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import ray

from rayhist_testkit.demo.ledger import Log
from rayhist_testkit.demo.workload.run import PATIENCE_S, Finish, Run, expected_failure, touch, until_exists

NON_ASCII = "ünï-名前-🚀"
_SQUARES = 10
_BRANCHES = 2
_FOREVER_S = 3600
_CRASH_STATUS = 17
_STDOUT = b"".join(
    [
        b"plain line\n",
        f"non-ASCII line {NON_ASCII}\n".encode(),
        b"\x1b[31mred\x1b[0m and \x1b[1mbold\x1b[0m\n",
        b"L" * 100_000 + b"\n",
        b"bytes " + bytes(set(range(256)) - {10, 13}) + b" end\n",
        b"bad UTF-8 \xff\xfe\xc3\x28\n",
        b"no newline at the end",
    ]
)
_STDERR = b"a line on stderr\n"


@ray.remote(num_cpus=0.2)
def square(number: int) -> int:
    return number * number


@ray.remote(num_cpus=0.2)
def leaf(number: int) -> int:
    return number


@ray.remote(num_cpus=0.2)
def branch(number: int) -> int:
    return int(sum(ray.get([leaf.remote(number + offset) for offset in range(_BRANCHES)])))


@ray.remote(num_cpus=0.2)
def tree() -> int:
    return int(sum(ray.get([branch.remote(number) for number in range(_BRANCHES)])))


@ray.remote(num_cpus=0.2, max_retries=0)
def fail(reason: str) -> None:
    raise ValueError(f"failed on purpose: {reason}")


@ray.remote(num_cpus=0.2)
def use(_argument: object) -> None:
    """Only there to depend on something."""


@ray.remote(num_cpus=0.2, max_retries=3, retry_exceptions=True)
def succeed_at_third(folder: str) -> int:
    path = Path(folder) / "attempts"
    with path.open("a", encoding="utf-8") as stream:
        stream.write("x")
    attempt = path.stat().st_size
    if attempt < 3:
        raise RuntimeError(f"attempt {attempt} fails on purpose")
    return attempt


@ray.remote(num_cpus=0.2, max_retries=1)
def crash() -> None:
    os._exit(_CRASH_STATUS)


@ray.remote(num_cpus=0.2, max_retries=0)
def sleep(path: str) -> None:
    touch(path)
    time.sleep(_FOREVER_S)


@ray.remote(num_cpus=0.2)
def speak() -> None:
    for stream, text in ((sys.stdout, _STDOUT), (sys.stderr, _STDERR)):
        stream.flush()
        os.write(stream.fileno(), text)


def begin(run: Run) -> Finish:
    """Start everything; what is wanted pending or running at the cluster's end stays so."""
    finishes = [_succeeding(run), _failing(run), _speaking(run), _unending(run)]

    def finish() -> None:
        for each in finishes:
            each()

    return finish


def _succeeding(run: Run) -> Finish:
    squares = [square.remote(number) for number in range(_SQUARES)]
    root = tree.remote()
    named = square.options(name=NON_ASCII).remote(3)
    run.task("square", squares[0], "square", "FINISHED")
    run.count(*["FINISHED"] * (_SQUARES - 1))
    run.task("tree", root, "tree", "FINISHED")
    run.count(*["FINISHED"] * (_BRANCHES + _BRANCHES**2))
    run.task("non-ASCII name", named, NON_ASCII, "FINISHED")
    return lambda: ray.get([*squares, root, named], timeout=PATIENCE_S)


def _failing(run: Run) -> Finish:
    failed = fail.remote(NON_ASCII)
    dependent = use.options(name="needs the failed").remote(failed)
    retried = succeed_at_third.remote(str(run.folder))
    crashed = crash.remote()
    exception = "TASK_EXECUTION_EXCEPTION"
    run.task("failed", failed, "fail", "FAILED", error_type=exception)
    run.task("dependent", dependent, "needs the failed", "FAILED", error_type=exception)
    run.task("retried", retried, "succeed_at_third", "FAILED", "FAILED", "FINISHED")
    run.task("crashed", crashed, "crash", "FAILED", "FAILED", error_type="WORKER_DIED")

    def finish() -> None:
        ray.get(retried, timeout=PATIENCE_S)
        for ref in (failed, dependent, crashed):
            with expected_failure():
                ray.get(ref, timeout=PATIENCE_S)

    return finish


def _speaking(run: Run) -> Finish:
    said = speak.remote()
    run.task("spoke", said, "speak", "FINISHED")
    for suffix, text in (("out", _STDOUT), ("err", _STDERR)):
        query = {"task_id": said.task_id().hex(), "suffix": suffix}
        run.ledger.logs[f"task's std{suffix}"] = Log(query, whole=text)
    return lambda: ray.get(said, timeout=PATIENCE_S)


def _unending(run: Run) -> Finish:
    running_file, cancelled_file = run.folder / "running", run.folder / "cancelled"
    running = sleep.options(name="still running").remote(str(running_file))
    infeasible = square.options(name="infeasible", resources={"no such resource": 1}).remote(1)
    waiting = use.options(name="waits for the infeasible").remote(infeasible)
    queued = square.options(name="cancelled in the queue", resources={"no such resource": 1}).remote(1)
    cancelled = sleep.options(name="cancelled by force").remote(str(cancelled_file))
    run.kept += [running, infeasible, waiting]
    run.task("running", running, "still running", "RUNNING")
    run.task("infeasible", infeasible, "infeasible", "PENDING_NODE_ASSIGNMENT")
    run.task("waiting", waiting, "waits for the infeasible", "PENDING_ARGS_AVAIL")
    for label, ref in (("cancelled in the queue", queued), ("cancelled by force", cancelled)):
        run.task(label, ref, label, "FAILED", error_type="TASK_CANCELLED")

    def finish() -> None:
        until_exists(running_file)
        until_exists(cancelled_file)
        for ref in (queued, cancelled):
            ray.cancel(ref, force=True)
            with expected_failure():
                ray.get(ref, timeout=PATIENCE_S)

    return finish
