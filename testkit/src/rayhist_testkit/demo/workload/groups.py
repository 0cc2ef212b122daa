"""Placement groups: created and used, removed, infeasible."""

from __future__ import annotations

import ray
from ray.util.placement_group import placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from rayhist.errors import RayhistError
from rayhist_testkit.demo.ledger import Group
from rayhist_testkit.demo.workload.run import PATIENCE_S, Finish, Run
from rayhist_testkit.demo.workload.tasks import square


def begin(run: Run) -> Finish:
    created = placement_group([{"CPU": 0.2}, {"CPU": 0.2}], strategy="SPREAD", name="created")
    removed = placement_group([{"CPU": 0.1}], name="removed")
    infeasible = placement_group([{"CPU": 500}], name="infeasible")
    run.kept += [created, infeasible]
    for group, name, state in (
        (created, "created", "CREATED"),
        (removed, "removed", "REMOVED"),
        (infeasible, "infeasible", "PENDING"),
    ):
        run.ledger.groups[name] = Group(group.id.hex(), name, state)

    def finish() -> None:
        # `ready()` would start tasks of its own, which nobody counted.
        for group in (created, removed):
            if not group.wait(PATIENCE_S):
                raise RayhistError("a placement group was not created in time")
        remove_placement_group(removed)
        inside = square.options(
            name="in the group", scheduling_strategy=PlacementGroupSchedulingStrategy(created)
        ).remote(2)
        run.task("in the group", inside, "in the group", "FINISHED")
        ray.get(inside, timeout=PATIENCE_S)

    return finish
