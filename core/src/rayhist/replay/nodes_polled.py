"""The nodes as the dashboard showed them while they lived; it forgets what it knew of a dead one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from rayhist.source import Answer

SUMMARY = "/nodes?view=summary"
_DETAIL = re.compile(r"/nodes/[0-9a-f]{56}\Z")


class _Raylet(msgspec.Struct, frozen=True, rename="camel"):
    node_id: str = ""
    state: str = ""


class _Node(msgspec.Struct, rename="camel"):
    raylet: _Raylet = _Raylet()
    now: float = 0
    """Absent while the node has not reported its hardware yet, and again some time after its death."""


class _SummaryData(msgspec.Struct):
    summary: list[msgspec.Raw] = []


class _SummaryAnswer(msgspec.Struct):
    data: _SummaryData


class _DetailData(msgspec.Struct):
    detail: msgspec.Raw


class _DetailAnswer(msgspec.Struct):
    data: _DetailData


class _Best(msgspec.Struct):
    """The most telling answer so far: alive beats dead, with hardware beats without, late beats early."""

    rank: tuple[bool, bool, int]
    body: bytes


class PolledNodes:
    """By node: the last element of a list and the last detail in which it was alive, and where it ended."""

    def __init__(self) -> None:
        self._summaries: dict[str, _Best] = {}
        self._details: dict[str, _Best] = {}
        self._raylets: dict[str, tuple[int, bytes]] = {}
        self.misread: set[str] = set()
        """Endpoints with an answer that is not what it should be."""

    def take(self, answer: Answer) -> None:
        """Look at an answer with status 200; those of other endpoints are ignored."""
        try:
            if answer.endpoint == SUMMARY:
                for raw in msgspec.json.decode(answer.body, type=_SummaryAnswer).data.summary:
                    self._keep(self._summaries, raw, answer.fetched_at)
            elif _DETAIL.match(answer.endpoint):
                detail = msgspec.json.decode(answer.body, type=_DetailAnswer).data.detail
                self._keep(self._details, detail, answer.fetched_at)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            self.misread.add(answer.endpoint)

    def _keep(self, best: dict[str, _Best], raw: msgspec.Raw, at_ms: int) -> None:
        node = msgspec.json.decode(raw, type=_Node)
        identifier = node.raylet.node_id
        if not identifier:  # what the dashboard answers for a node it does not know
            return
        rank = (node.raylet.state == "ALIVE", node.now > 0, at_ms)
        if identifier not in best or best[identifier].rank <= rank:
            best[identifier] = _Best(rank, bytes(raw))  # a copy: a `Raw` would keep the whole answer
        if node.raylet.state == "DEAD" and self._raylets.get(identifier, (0, b""))[0] <= at_ms:
            self._raylets[identifier] = (at_ms, bytes(raw))

    def __iter__(self) -> Iterator[str]:
        """The ids of all nodes seen, sorted."""
        return iter(sorted(self._summaries.keys() | self._details.keys()))

    def summary(self, node: str) -> dict[str, Any]:
        """The node's element of `data.summary`; empty if it was never listed."""
        return self._decoded(self._summaries, node)

    def detail(self, node: str) -> dict[str, Any]:
        """The node's `data.detail`; empty if it was never asked for."""
        return self._decoded(self._details, node)

    def dead_raylet(self, node: str) -> dict[str, Any]:
        """The `raylet` part of the last answer that called the node dead; empty if none did."""
        found = self._raylets.get(node)
        return msgspec.json.decode(found[1])["raylet"] if found else {}

    @staticmethod
    def _decoded(best: dict[str, _Best], node: str) -> dict[str, Any]:
        found = best.get(node)
        return msgspec.json.decode(found.body) if found else {}
