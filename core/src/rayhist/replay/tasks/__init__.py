"""Tasks: from four types of events to the rows of `/api/v0/tasks`."""

from rayhist.replay.tasks.fold import TaskFold

__all__ = ["TaskFold"]
