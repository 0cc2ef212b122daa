"""The folds, in the order in which they write: later ones look at what earlier ones found."""

from __future__ import annotations

from rayhist.replay.actors import ActorFold
from rayhist.replay.fold import Fold
from rayhist.replay.jobs import JobFold
from rayhist.replay.nodes import NodeFold
from rayhist.replay.nodes_details import NodeDetailFold
from rayhist.replay.snapshots import SnapshotFold
from rayhist.replay.tasks import TaskFold
from rayhist.replay.workers import WorkerFold


def all_folds() -> list[Fold]:
    """New, empty folds."""
    nodes, jobs, actors = NodeFold(), JobFold(), ActorFold()
    return [
        nodes,
        jobs,
        WorkerFold(jobs),
        actors,
        TaskFold(),
        NodeDetailFold(nodes, actors),
        SnapshotFold(),
    ]
