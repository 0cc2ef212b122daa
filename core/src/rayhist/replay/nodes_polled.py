"""The nodes as the dashboard showed them while they lived; it forgets what it knew of a dead one."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from rayhist.source import Answer

SUMMARY = "/nodes?view=summary"
_DETAIL = re.compile(r"/nodes/[0-9a-f]{56}\Z")
_STATISTICS = (
    "coreWorkersStats",
    "numWorkers",
    "storeStats",
    "objectStoreUsedMemory",
    "objectStoreAvailableMemory",
)
"""The parts of `raylet` that the raylet reports of itself; the others say what the node is."""


class _Raylet(msgspec.Struct, rename="camel", frozen=True):
    node_id: str = ""
    state: str = ""


class _Node(msgspec.Struct, rename="camel", frozen=True):
    raylet: _Raylet = _Raylet()
    now: float = 0
    """When the node reported its hardware, epoch seconds; absent before it did and long after its death."""


class _SummaryData(msgspec.Struct):
    summary: list[msgspec.Raw] = []


class _SummaryAnswer(msgspec.Struct):
    data: _SummaryData


class _DetailData(msgspec.Struct):
    detail: msgspec.Raw


class _DetailAnswer(msgspec.Struct):
    data: _DetailData


class _Best(msgspec.Struct):
    """The bytes of the best element seen so far, and what makes it so."""

    rank: tuple[float, int] = (-math.inf, 0)
    body: bytes = b"{}"

    def offer(self, rank: tuple[float, int], raw: msgspec.Raw) -> None:
        if rank >= self.rank:
            self.rank, self.body = rank, bytes(raw)  # a copy: a `Raw` would keep the whole answer

    def decoded(self) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.json.decode(self.body)
        return found


class _Seen(msgspec.Struct):
    """One node: as it last was alive (or at all), with its freshest statistics, and as it last was dead."""

    alive: _Best = msgspec.field(default_factory=_Best)
    fresh: _Best = msgspec.field(default_factory=_Best)
    dead: _Best = msgspec.field(default_factory=_Best)

    def offer(self, node: _Node, at_ms: int, raw: msgspec.Raw) -> None:
        self.alive.offer((node.raylet.state == "ALIVE", at_ms), raw)
        self.fresh.offer((node.now, at_ms), raw)
        if node.raylet.state == "DEAD":
            self.dead.offer((0, at_ms), raw)

    def joined(self) -> dict[str, Any]:
        fresh = self.fresh.decoded()
        statistics = {name: value for name, value in fresh["raylet"].items() if name in _STATISTICS}
        return fresh | {"raylet": self.alive.decoded()["raylet"] | statistics}


class PolledNodes:
    """By node: what the answers of `/nodes?view=summary` and of `/nodes/<id>` come to."""

    def __init__(self) -> None:
        self._summaries: dict[str, _Seen] = {}
        self._details: dict[str, _Seen] = {}
        self.misread: set[str] = set()
        """Endpoints with an answer that is not what it should be."""

    def take(self, answer: Answer) -> None:
        """Look at an answer with status 200; those of other endpoints are ignored."""
        try:
            if answer.endpoint == SUMMARY:
                for raw in msgspec.json.decode(answer.body, type=_SummaryAnswer).data.summary:
                    _keep(self._summaries, raw, answer.fetched_at)
            elif _DETAIL.match(answer.endpoint):
                detail = msgspec.json.decode(answer.body, type=_DetailAnswer).data.detail
                _keep(self._details, detail, answer.fetched_at)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            self.misread.add(answer.endpoint)

    def __iter__(self) -> Iterator[str]:
        """The ids of all nodes seen, sorted."""
        return iter(sorted(self._summaries.keys() | self._details.keys()))

    def summary(self, node: str) -> dict[str, Any]:
        """The node's element of `data.summary`; empty if it was never listed."""
        seen = self._summaries.get(node)
        return seen.joined() if seen else {}

    def detail(self, node: str) -> dict[str, Any]:
        """The node's `data.detail`; empty if it was never asked for."""
        seen = self._details.get(node)
        return seen.joined() if seen else {}

    def dead_raylet(self, node: str) -> dict[str, Any]:
        """The `raylet` part of the last list that called the node dead; empty if none did."""
        seen = self._summaries.get(node)
        found: dict[str, Any] = seen.dead.decoded().get("raylet", {}) if seen else {}
        return found


def listed(answer: Answer | None) -> list[str]:
    """The ids of the nodes in the order of an answer of `/nodes?view=summary`; none if it cannot be read."""
    try:
        summary = msgspec.json.decode(answer.body, type=_SummaryAnswer).data.summary if answer else []
        return [msgspec.json.decode(raw, type=_Node).raylet.node_id for raw in summary]
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return []


def _keep(nodes: dict[str, _Seen], raw: msgspec.Raw, at_ms: int) -> None:
    node = msgspec.json.decode(raw, type=_Node)
    if node.raylet.node_id:  # the dashboard answers without one for a node that it does not know
        nodes.setdefault(node.raylet.node_id, _Seen()).offer(node, at_ms, raw)
