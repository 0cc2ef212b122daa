"""Importing what a live dashboard says, once: its answers, its tasks, and the logs that it shows."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec

from rayhist import ids, layout
from rayhist.errors import BadIdentifier, DataError, RayhistError, Unavailable
from rayhist.ids import IdKind, Session
from rayhist.layout import FrontendFile
from rayhist.manifest import Loss, NodeManifest, SessionMarker
from rayhist.source import Answer
from rayhist_collector import frontends
from rayhist_collector.dashboard_client import DashboardClient, Reply
from rayhist_collector.facts import Facts
from rayhist_collector.importing import task_events
from rayhist_collector.importing.context import Import
from rayhist_collector.importing.filing import Filing, LogContent
from rayhist_collector.importing.remote_logs import RemoteLogs
from rayhist_collector.local_time import to_utc_ms
from rayhist_collector.poll_plan import ACTORS, JOBS, ONCE, SUMMARY, TASKS, VERSION, Known

_OK = 200
_ALL_TASKS = f"{TASKS}&exclude_driver=false"
_MORE = (
    "/api/v0/actors?detail=1&limit=10000",
    "/api/v0/nodes?detail=1&limit=10000",
    "/api/v0/jobs?detail=1&limit=10000",
    "/events",
    _ALL_TASKS,
)
"""What a collector learns from events and files instead."""
_MOST = 10_000
"""What Ray's state API lists at most."""


class DashboardImport:
    """One import."""

    def __init__(self, context: Import, client: DashboardClient, timeout_s: float = 60.0) -> None:
        self._context = context
        self._clock = context.clock
        self._redactor = context.redactor
        self._mask = context.mask
        self._say = context.say
        self._client = client
        self._timeout_s = timeout_s
        self._known = Known()
        self._refused: dict[str, str] = {}

    async def run(self) -> Session:
        """Raises `Unavailable` if it is no dashboard, or lets nobody in, and what the store raises."""
        version = await asyncio.to_thread(self._version)
        session = Session(self._context.cluster, ids.session_name(version.session_name))
        self._known.ray_version = ids.version(version.ray_version)
        filing = Filing(self._context.store, session)
        known = await filing.known()
        self._say(f"{session.path}: Ray {self._known.ray_version} at {self._client.address}")
        answers = await asyncio.to_thread(lambda: list(self._ask_all()))
        await filing.answers(answers)
        facts = Facts()
        for answer in answers:
            facts.learn(answer)
        nodes = _nodes(answers)
        head = next((node.id for node in nodes if node.is_head), "") or _made_up(session)
        tasks = await self._tasks(filing, head, answers)
        for node in nodes or [_Node(head, is_head=True)]:
            await self._node(filing, node)
        await self._frontend()
        now_ms = self._clock.time_ms()
        made = SessionMarker(
            cluster_uid=facts.cluster_uid,
            ray_version=self._known.ray_version,
            python_version=facts.python_version,
            head_node=head,
            start_ms=to_utc_ms(session.name, offset=facts.offset) or now_ms,
            last_seen_ms=now_ms,
            timezone=facts.timezone,
            jobs=facts.jobs,
            imported="Imported once from a live dashboard, which lists at most 10,000 of each kind and no"
            " more than it remembers: what ended long before may be missing.",
        )
        await filing.marker(made, known)
        self._say(f"  {len(answers)} answers, {tasks} task attempts, {len(nodes)} nodes that are alive")
        for endpoint, reason in self._refused.items():
            self._say(f"  not there: {endpoint}: {reason}")
        if tasks >= _MOST:
            self._say("  not there: tasks beyond the 10,000 that Ray lists")
        written = filing.filed
        self._say(
            f"  {written.objects} objects written ({written.bytes:,} bytes),"
            f" {written.there} were there already"
        )
        return session

    def _version(self) -> _Version:
        reply = self._client.get(VERSION, timeout_s=self._timeout_s)
        if reply.status in {401, 403}:
            raise Unavailable(
                f"{self._client.address} does not let us in ({reply.status})",
                remedy="set RAY_AUTH_TOKEN, or RAY_AUTH_TOKEN_PATH to a file with Ray's token",
            )
        try:
            return msgspec.json.decode(reply.body, type=_Version)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise Unavailable(
                f"{self._client.address}{VERSION} is answered {reply.status}, and not by Ray",
                remedy="name the address of Ray's dashboard, such as http://127.0.0.1:8265",
            ) from error

    def _ask_all(self) -> Iterator[Answer]:
        """Each endpoint once; what the first ones say tells which others there are."""
        first = (VERSION, *ONCE, SUMMARY, JOBS, ACTORS)
        yield from filter(None, map(self._ask, first))
        rest = [endpoint for endpoint in (*self._known.endpoints(), *_MORE) if endpoint not in first]
        yield from filter(None, map(self._ask, rest))

    def _ask(self, endpoint: str) -> Answer | None:
        at_ms = self._clock.time_ms()
        try:
            reply = self._client.get(endpoint, timeout_s=self._timeout_s)
            body = self._json(reply)
        except RayhistError as error:
            self._refused[endpoint] = str(error)
            return None
        if reply.status != _OK:
            self._refused[endpoint] = f"answered {reply.status}"
        else:
            self._known.learn(endpoint, body)
        return Answer(layout.canonical_endpoint(endpoint), at_ms, reply.status, msgspec.Raw(body))

    def _get(self, path: str) -> Reply:
        return self._client.get(path, timeout_s=self._timeout_s)

    def _json(self, reply: Reply) -> bytes:
        try:
            msgspec.json.decode(reply.body, type=msgspec.Raw)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            if reply.status == _OK:
                raise DataError("its answer is no JSON") from error
            return msgspec.json.encode(reply.body.decode("utf-8", "replace"))
        return self._redactor.redact(reply.body) if self._redactor else reply.body

    async def _tasks(self, filing: Filing, head: str, answers: list[Answer]) -> int:
        endpoint = layout.canonical_endpoint(_ALL_TASKS)
        for answer in answers:
            if answer.endpoint == endpoint and answer.status == _OK:
                try:
                    rows = msgspec.json.decode(answer.body)["data"]["result"]["result"]
                    lines = list(task_events.events(filing.session.name, head, rows))
                except (KeyError, TypeError, ValueError) as error:
                    self._refused["tasks"] = f"their list is not what Ray answers: {error!r}"
                    return 0
                await filing.events(head, answer.fetched_at, lines)
                return len(rows)
        return 0

    async def _node(self, filing: Filing, node: _Node) -> None:
        remote = RemoteLogs(self._client, node.id, self._mask, self._timeout_s)
        files = await asyncio.to_thread(remote.list)
        start_ms = to_utc_ms(filing.session.name) or self._clock.time_ms()
        contents = (LogContent(path, partial(remote.read, path)) for path in files)
        stored = await filing.logs(node.id, start_ms, contents, self._context.progress)
        await filing.node(
            NodeManifest(
                node_id=node.id,
                ip=node.ip,
                hostname=node.hostname,
                role="head" if node.is_head else "worker",
                last_seen_ms=self._clock.time_ms(),
                logs=stored,
                losses=[Loss(what, reason, 1) for what, reason in remote.problems.items()],
            )
        )
        size = sum(one.bytes for one in stored.values())
        self._say(f"  node {node.id[:12]}…: {len(stored)} log files, {size:,} bytes")
        for what, reason in itertools.islice(remote.problems.items(), 20):
            self._say(f"    not there: {what}: {reason}")

    async def _frontend(self) -> None:
        """The dashboard's own pages, so that the replay looks the same."""
        store = self._context.store
        try:
            assets = await asyncio.to_thread(lambda: list(frontends.from_dashboard(self._get)))
        except RayhistError as error:
            self._refused["the dashboard's pages"] = str(error)
            return
        for path, data in assets:
            key = layout.key(FrontendFile(self._known.ray_version, path))
            if not await store.exists(key):
                await store.put(key, data)


class _Version(msgspec.Struct):
    session_name: str
    ray_version: str


class _Node(msgspec.Struct):
    id: str
    ip: str = ""
    hostname: str = ""
    is_head: bool = False


def _nodes(answers: list[Answer]) -> list[_Node]:
    """The nodes that are alive: of the others the dashboard shows no logs."""
    endpoint = layout.canonical_endpoint(SUMMARY)
    found = []
    for answer in answers:
        if answer.endpoint == endpoint and answer.status == _OK:
            body: Any = msgspec.json.decode(answer.body)
            with contextlib.suppress(AttributeError, KeyError, TypeError, BadIdentifier):
                found += [_node(one) for one in body["data"]["summary"] if one["raylet"]["state"] == "ALIVE"]
    return found


def _node(said: Any) -> _Node:
    return _Node(
        ids.hex_id(IdKind.NODE, said["raylet"]["nodeId"]),
        str(said.get("ip") or ""),
        str(said.get("hostname") or ""),
        bool(said["raylet"].get("isHeadNode")),
    )


def _made_up(session: Session) -> str:
    """An id for what no node is known for."""
    return session.name.encode().hex()[: 2 * IdKind.NODE.size].ljust(2 * IdKind.NODE.size, "0")


def client_of(address: str) -> DashboardClient:
    """Raises `Unavailable` if the address cannot be one."""
    return DashboardClient(address if "://" in address else f"http://{address}", connections=2)
