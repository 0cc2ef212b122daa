"""Waiting until the cluster has settled, so that its answers do not change while they are taken."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rayhist_testkit.cluster.dashboard import Dashboard
from rayhist_testkit.cluster.waiting import until

_STILL_S = 15.0
_WITHIN_S = 180.0


def until_quiet(dashboard: Dashboard, clock: Callable[[], float] = time.monotonic) -> Any:
    """Wait until nothing was begun or ended for some seconds, and return what there is then."""
    seen, since = None, clock()

    def quiet() -> bool:
        nonlocal seen, since
        now = standing(dashboard)
        if now != seen or _young(dashboard):
            seen, since = now, clock()
        return clock() - since >= _STILL_S

    until(quiet, "nothing changes in the cluster any more", within_s=_WITHIN_S, every_s=1)
    return seen


def standing(dashboard: Dashboard) -> Any:
    """What there is, and in which state.

    Tasks are left out: the actors of Ray's libraries call one another for as long as they live.
    """
    serve = dashboard.json("api/serve/applications/")
    applications = serve["applications"].values()
    deployments = [one for each in applications for one in each["deployments"].values()]
    return {
        "workers": sorted(row["worker_id"] for row in dashboard.rows("workers") if row["is_alive"]),
        "actors": sorted((row["actor_id"], row["state"]) for row in dashboard.rows("actors")),
        "jobs": sorted(
            (row["type"], row["job_id"] or "", row["status"]) for row in dashboard.json("api/jobs/")
        ),
        "groups": sorted(
            (row["placement_group_id"], row["state"]) for row in dashboard.rows("placement_groups")
        ),
        "environments": len(dashboard.rows("runtime_envs")),
        "applications": [one["status"] for one in applications],
        "replicas": [(one["replica_id"], one["state"]) for each in deployments for one in each["replicas"]],
        "proxies": sorted((node, one["status"]) for node, one in serve["proxies"].items()),
    }


def _young(dashboard: Dashboard) -> bool:
    """Whether an actor lives whose process no sample of its node has shown yet."""
    actors = dashboard.json("logical/actors", nocache=1)["data"]["actors"].values()
    alive = [actor for actor in actors if actor["state"] == "ALIVE"]
    return not all(actor.get("processStats") and actor.get("workerId") for actor in alive)
