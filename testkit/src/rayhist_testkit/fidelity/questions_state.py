"""Questions to the state API: lists, filters, one task, summaries, timeline."""

from __future__ import annotations

from collections.abc import Iterator

from rayhist_testkit.fidelity.known import Known
from rayhist_testkit.fidelity.question import Question, as_browser, filters

RESOURCES = (
    "actors",
    "jobs",
    "nodes",
    "placement_groups",
    "workers",
    "tasks",
    "objects",
    "runtime_envs",
)
_QUERIES = (
    "",
    "?limit=10000",
    "?detail=1&limit=10000",
    "?detail=true&limit=3",
    "?detail=bogus",
    "?limit=0",
    "?limit=1",
    "?limit=10000&limit=1",
    "?limit=10001",
    "?limit=-1",
    "?limit=abc",
    "?timeout=abc",
    "?unknown=1",
)
_BAD_FILTERS = (
    filters(("nosuchcolumn", "=", 1)),
    filters(("state", ">", "x")),
    filters(("is_alive", "=", "maybe")),
    filters(("pid", "=", "many")),
    "filter_keys=state",
    "filter_keys=state&filter_predicates=%3D",
)


def lists(known: Known) -> Iterator[Question]:  # noqa: ARG001 - every section has this form
    for resource in RESOURCES:
        yield from (Question(f"/api/v0/{resource}{query}") for query in _QUERIES)
        yield from (Question(f"/api/v0/{resource}?{query}") for query in _BAD_FILTERS)
        yield as_browser(Question(f"/api/v0/{resource}?detail=1&limit=10000"))
    for query in ("exclude_driver=false", "exclude_driver=bogus", "detail=1&exclude_driver=false"):
        yield Question(f"/api/v0/tasks?limit=10000&{query}")
    yield Question("/api/v0/no_such_resource")


def filtered(known: Known) -> Iterator[Question]:
    """Filters on columns of each type, in each case, with each predicate, one and several."""
    for resource, conditions in _conditions(known).items():
        for condition in conditions:
            yield Question(f"/api/v0/{resource}?limit=10000&{filters(condition)}")
    both = filters(("state", "=", "FAILED"), ("name", "=", "fail"))
    yield Question(f"/api/v0/tasks?limit=10000&{both}")
    yield Question(f"/api/v0/tasks?limit=10000&detail=1&{both}")
    never = filters(("state", "=", "FAILED"), ("state", "=", "FINISHED"))
    yield Question(f"/api/v0/tasks?limit=10000&{never}")


def _conditions(known: Known) -> dict[str, list[tuple[str, str, object]]]:
    actor, node, job = known.actors[0], known.head.id, known.jobs[0]
    task = next(iter(known.tasks.values()))
    return {
        "tasks": [
            *[("state", "=", state) for state in ("FAILED", "failed", "RUNNING", "nosuch", "")],
            *[("state", "!=", state) for state in ("FINISHED", "finished")],
            *[("name", "=", name) for name in ("square", "SQUARE", "ünï-名前-🚀", "ÜNÏ-名前-🚀")],
            *[("job_id", predicate, job) for predicate in ("=", "!=")],
            *[("job_id", "=", "99000000"), ("job_id", "=", "xyz"), ("job_id", "=", "")],
            *[("task_id", "=", task), ("task_id", "!=", task), ("task_id", "=", task.upper())],
            *[("task_id", "=", "xyz"), ("task_id", "=", "f" * 48), ("task_id", "=", "")],
            *[("actor_id", "=", actor), ("actor_id", "!=", actor), ("actor_id", "=", "xyz")],
            *[("type", "=", kind) for kind in ("ACTOR_TASK", "NORMAL_TASK", "DRIVER_TASK")],
            *[("attempt_number", "=", 1), ("attempt_number", "!=", 0), ("attempt_number", "=", "x")],
            *[("worker_pid", "=", 1), ("worker_pid", "!=", 1), ("worker_pid", "=", 99999999999999999999)],
            *[("node_id", "=", node), ("node_id", "!=", node)],
            *[("error_type", "=", "TASK_EXECUTION_EXCEPTION"), ("error_type", "!=", "WORKER_DIED")],
            *[("func_or_class_name", "=", "square"), ("language", "=", "python")],
            *[("is_debugger_paused", "=", "true"), ("is_debugger_paused", "=", "maybe")],
            *[("placement_group_id", "=", group) for group in known.groups],
            *[("parent_task_id", "=", task), ("worker_id", "=", "f" * 56)],
        ],
        "actors": [
            *[("state", "=", state) for state in ("DEAD", "dead", "ALIVE", "nosuch")],
            *[("class_name", "=", "Counter"), ("class_name", "!=", "counter")],
            *[("job_id", "=", job), ("job_id", "=", "xyz"), ("name", "=", "counter"), ("name", "=", "")],
            *[("actor_id", "=", actor), ("actor_id", "=", actor.upper()), ("actor_id", "=", "xyz")],
            *[("pid", "=", 0), ("pid", "!=", 0), ("ray_namespace", "=", "other"), ("node_id", "=", node)],
        ],
        "jobs": [
            *[("status", "=", status) for status in ("SUCCEEDED", "failed", "RUNNING")],
            *[("type", "=", kind) for kind in ("SUBMISSION", "driver")],
            *[("job_id", "=", job), ("submission_id", "=", known.submissions[0])],
        ],
        "nodes": [
            *[("state", predicate, state) for predicate in ("=", "!=") for state in ("ALIVE", "dead")],
            *[("is_head_node", "=", value) for value in ("true", "False", "1", "maybe")],
            *[("node_id", "=", node), ("node_id", "!=", node), ("node_id", "=", "xyz")],
            *[("node_ip", "=", known.head.ip), ("node_name", "=", known.head.ip)],
        ],
        "placement_groups": [
            *[("state", "=", state) for state in ("CREATED", "removed", "PENDING")],
            *[("name", "=", "created"), ("is_detached", "=", "false"), ("creator_job_id", "=", job)],
        ],
        "workers": [
            *[("is_alive", "=", value) for value in ("true", "0", "maybe")],
            *[("worker_type", "=", "DRIVER"), ("pid", "!=", 1), ("node_id", "=", node)],
            *[("exit_type", "=", "SYSTEM_ERROR"), ("exit_type", "!=", "SYSTEM_ERROR")],
        ],
        "objects": [("reference_type", "=", "LOCAL_REFERENCE"), ("object_size", "!=", 1)],
        "runtime_envs": [("success", "=", "true"), ("node_id", "=", node), ("error", "=", "x")],
    }


def tasks(known: Known) -> Iterator[Question]:
    """One task after the other, as the task page asks, and all attempts of each."""
    for task in known.tasks.values():
        for limit in (1, 100):
            yield Question(f"/api/v0/tasks?detail=1&limit={limit}&{filters(('task_id', '=', task))}")


def progress(known: Known) -> Iterator[Question]:
    """Summaries of each kind, and timelines."""
    for job in (*known.jobs, "99000000"):
        of_job = filters(("job_id", "=", job))
        yield Question(f"/api/v0/tasks/summarize?{of_job}")
        yield Question(f"/api/v0/tasks/summarize?{of_job}&summary_by=lineage")
        yield Question(f"/api/v0/tasks?detail=1&limit=10000&{of_job}")
        yield Question(f"/api/v0/tasks/timeline?download=1&job_id={job}")
        yield Question(f"/api/v0/actors/summarize?{of_job}")
    for kind in ("func_name", "task_name", "lineage", "bogus"):
        yield Question(f"/api/v0/tasks/summarize?summary_by={kind}")
    for resource in ("tasks", "actors", "objects"):
        yield Question(f"/api/v0/{resource}/summarize")
        yield Question(f"/api/v0/{resource}/summarize?{filters(('nosuchcolumn', '=', 1))}")
    yield Question(f"/api/v0/tasks/summarize?{filters(('state', '=', 'FAILED'))}")
    yield from (Question(f"/api/v0/tasks/timeline{query}") for query in ("", "?download=1", "?job_id=xyz"))
