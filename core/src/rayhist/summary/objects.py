"""The summary of objects by call site: `ObjectSummaries` of `ray.util.state.common` of Ray 2.60."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from rayhist.index import Index
from rayhist.query import Filter, Query, condition, select
from rayhist.resources import OBJECTS
from rayhist.summary.shape import of_cluster

_MIB = 1024**2
_SIZE_UNKNOWN = -1


class _Object(msgspec.Struct):
    """A row of `/api/v0/objects`, as far as it is summed up."""

    call_site: str = ""
    task_status: str = ""
    attempt_number: int = 0
    reference_type: str = ""
    object_size: int = _SIZE_UNKNOWN
    pid: int = 0
    ip: str = ""


class _CallSite:
    """What the objects of one call site come to."""

    def __init__(self) -> None:
        self.bytes = 0
        self.objects = 0
        self.workers: set[int] = set()
        self.nodes: set[str] = set()
        self.states: Counter[str] = Counter()
        self.attempts: Counter[str] = Counter()
        self.references: Counter[str] = Counter()

    def add(self, one: _Object) -> None:
        self.objects += 1
        self.bytes += one.object_size if one.object_size != _SIZE_UNKNOWN else 0
        self.workers.add(one.pid)
        self.nodes.add(one.ip)
        self.states[one.task_status] += 1
        self.attempts[str(one.attempt_number)] += 1
        self.references[one.reference_type] += 1

    def answer(self) -> dict[str, Any]:
        return {
            "total_objects": self.objects,
            "total_size_mb": self.bytes / _MIB,
            "total_num_workers": len(self.workers),
            "total_num_nodes": len(self.nodes),
            "task_state_counts": self.states,
            "task_attempt_number_counts": self.attempts,
            "ref_type_counts": self.references,
        }


def objects(index: Index, filters: Sequence[Filter] = ()) -> object:
    """By the call site that made them; sizes in MiB."""
    wanted = condition(OBJECTS, Query(filters=tuple(filters)))
    decoder = msgspec.json.Decoder(_Object)
    sites: dict[str, _CallSite] = {}
    for [base] in select(index, OBJECTS, "base", wanted, "ORDER BY object_id"):
        one = decoder.decode(base)
        sites.setdefault(one.call_site, _CallSite()).add(one)
    summary = {
        "summary": {name: site.answer() for name, site in sites.items()},
        "total_objects": sum(site.objects for site in sites.values()),
        "total_size_mb": sum(site.bytes for site in sites.values()) / _MIB,
        "callsite_enabled": "disabled" not in sites,
        "summary_by": "callsite",
    }
    return of_cluster(summary)
