"""Summaries of tasks, actors and objects, as Ray's state API makes them.

Each function returns what stands under `data.result.result` of `/api/v0/<resource>/summarize`, and raises
`BadQuery` as a list with these filters does.  Where Ray looks at no more than 10,000 of each, everything
counts here.
"""

from rayhist.summary.actors import actors
from rayhist.summary.by_name import tasks_by_func_name
from rayhist.summary.lineage import tasks_by_lineage
from rayhist.summary.objects import objects

__all__ = ["actors", "objects", "tasks_by_func_name", "tasks_by_lineage"]
