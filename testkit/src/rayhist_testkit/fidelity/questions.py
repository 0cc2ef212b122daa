"""All questions, by section: every GET route of Ray 2.60's dashboard head, with its parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from rayhist.errors import ConfigError
from rayhist_testkit.fidelity import questions_logs, questions_state
from rayhist_testkit.fidelity.known import Known
from rayhist_testkit.fidelity.question import Question, as_browser, ask, head

UNKNOWN_NODE = "f" * 56
UNKNOWN_ACTOR = "f" * 32
_PLAIN = (
    "/",
    "/favicon.ico",
    "/timezone",
    "/usage_stats_enabled",
    "/cluster_id",
    "/api/authentication_mode",
    "/api/version",
    "/api/ray/version",
    "/api/v0/cluster_metadata",
    "/api/profiling_enabled",
    "/api/v0/runtime_env_redaction",
    "/api/grafana_health",
    "/api/prometheus_health",
    "/api/cluster_status",
    "/api/cluster_status?format=1",
    "/api/cluster_status?format=0",
    "/api/component_activities",
    "/api/gcs_healthz",
    "/api/healthz",
    "/api/prometheus/sd",
    "/api/v0/platform_events",
    "/api/packages/gcs/no-such-package.zip",
    "/no/such/path",
    "/api/nope",
)
_PROFILING = (
    "/task/traceback",
    "/task/cpu_profile",
    "/worker/traceback",
    "/worker/cpu_profile",
    "/worker/gpu_profile",
    "/worker/jax_profile",
    "/memory_profile",
)


def chosen(known: Known, sections: Sequence[str]) -> list[Question]:
    """The questions of the sections, each once.  Raises `ConfigError` for an unknown section."""
    for name in sections:
        if name not in SECTIONS:
            raise ConfigError(f"there is no section {name!r}", remedy=f"take some of {', '.join(SECTIONS)}")
    found: dict[Question, str] = {}
    for name in sections:
        for one in SECTIONS[name](known):
            found.setdefault(one, name)
    return [msgspec.structs.replace(one, section=name) for one, name in found.items()]


def _shell(known: Known) -> Iterator[Question]:
    yield from map(Question, _PLAIN)
    yield head("/api/v0/platform_events")
    yield head("/")
    yield from (head(f"/{asset}") for asset in known.assets)
    yield from (ask(path, pid=1, node_id=known.head.id) for path in _PROFILING)


def _nodes(known: Known) -> Iterator[Question]:
    summary = ask("/nodes", view="summary")
    yield from (summary, as_browser(summary), ask("/nodes"))
    yield from (ask("/nodes", view=view) for view in ("hostNameList", "HOSTNAMELIST", "details", ""))
    for identifier in (*(node.id for node in known.nodes), UNKNOWN_NODE, "no-id"):
        yield ask(f"/nodes/{identifier}")
        yield as_browser(ask(f"/nodes/{identifier}"))


def _actors(known: Known) -> Iterator[Question]:
    everything = ask("/logical/actors")
    yield from (everything, as_browser(everything))
    for ids in (known.actors[:2], [known.actors[0], UNKNOWN_ACTOR], [UNKNOWN_ACTOR], [""]):
        yield ask("/logical/actors", ids=",".join(ids))
    for identifier in (*known.actors, UNKNOWN_ACTOR, known.actors[0].upper(), "no-id"):
        yield ask(f"/logical/actors/{identifier}")


def _jobs(known: Known) -> Iterator[Question]:
    everything = Question("/api/jobs/")
    yield from (everything, as_browser(everything), Question("/api/jobs"))
    for identifier in (*known.jobs, *known.submissions, "99000000", "raysubmit_nosuch"):
        yield Question(f"/api/jobs/{identifier}")
        yield as_browser(Question(f"/api/jobs/{identifier}"))
        yield Question(f"/api/jobs/{identifier}/logs")
    yield Question(f"/api/jobs/{known.submissions[0]}/logs/tail")


def _events(known: Known) -> Iterator[Question]:
    # These first: they leave a mark on every event that there was.
    yield from map(Question, ("/api/v0/cluster_events", "/api/v0/cluster_events?detail=1&limit=1000"))
    yield ask("/events")
    for job in (*known.jobs, *known.submissions[:2], "global", "", "nosuch"):
        yield ask("/events", job_id=job)


def _libraries(known: Known) -> Iterator[Question]:
    serve = Question("/api/serve/applications/")
    yield from (serve, as_browser(serve))
    for kind in ("imperative", "declarative", "unknown", "bogus", ""):
        yield ask("/api/serve/applications/", api_type=kind)
    yield from (Question(f"/api/data/datasets/{job}") for job in (*known.jobs, "99000000", "no-id"))
    yield from map(Question, ("/api/train/v2/runs", "/api/train/v2/runs/v1"))


SECTIONS: dict[str, Callable[[Known], Iterable[Question]]] = {
    "shell": _shell,
    "nodes": _nodes,
    "actors": _actors,
    "jobs": _jobs,
    "events": _events,
    "libraries": _libraries,
    "state": questions_state.lists,
    "filters": questions_state.filtered,
    "tasks": questions_state.tasks,
    "progress": questions_state.progress,
    "logs": questions_logs.listings,
    "files": questions_logs.files,
    "output": questions_logs.output,
}
