"""Asking Ray's dashboard in rounds, and for everything once more at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import msgspec

from rayhist import ids, layout
from rayhist.errors import RayhistError, Unavailable
from rayhist.layout import FrontendFile
from rayhist.source import Answer, Intake, Source, SourceContext
from rayhist_collector import frontends, sessions
from rayhist_collector.backoff import Backoff
from rayhist_collector.dashboard_client import ConnectionLost, DashboardClient, Reply
from rayhist_collector.poll_plan import ACTORS, JOBS, SUMMARY, VERSION, Known, Schedule
from rayhist_collector.sources.dashboard import Options

_T = TypeVar("_T")

_DEFAULT_ADDRESS = "http://127.0.0.1:8265"
_AT_ONCE = 4
_AT_ONCE_AT_THE_END = 8
_TELLING = (SUMMARY, JOBS, ACTORS)
"""What tells which other endpoints there are."""
_OK = 200
_NOT_LET_IN = {401, 403}


class Dashboard(Source):
    """Asks in rounds until cancelled, and for everything once more at the end."""

    def __init__(self, context: SourceContext, options: Options) -> None:
        self._context = context
        self._options = options
        self._log = context.log
        self._threads = ThreadPoolExecutor(_AT_ONCE_AT_THE_END, "dashboard")
        self._client: DashboardClient | None = None
        self._session = ""
        self._known = Known()
        self._schedule = Schedule(options.interval_s)
        self._backoff = Backoff(first_s=1.0, most_s=30.0)
        self._said = ""
        self._broken = False
        self._frontends: set[str] = set()

    async def run(self, intake: Intake) -> None:
        while True:
            clock = self._context.clock
            started = clock.monotonic()
            try:
                await self._round(intake)
            except RayhistError as error:
                self._say(str(error), error.remedy)
                await clock.sleep(self._backoff.failed())
                continue
            self._backoff.succeeded()
            await clock.sleep(max(0.0, self._options.interval_s - (clock.monotonic() - started)))

    async def finish(self, intake: Intake) -> None:
        try:
            session = await self._ask_session(self._options.final_timeout_s)
            if session != self._session:
                self._turn_to(session)
            now = self._context.clock.monotonic()
            await self._ask_all(intake, _TELLING, _AT_ONCE_AT_THE_END, self._options.final_timeout_s)
            rest = [*self._schedule.due({}, now), *(self._endpoints().keys() - set(_TELLING))]
            await self._ask_all(intake, rest, _AT_ONCE_AT_THE_END, self._options.final_timeout_s)
        except RayhistError as error:
            self._log.info("the dashboard is gone; its last answers were kept", error=str(error))
        finally:
            self._threads.shutdown(wait=False, cancel_futures=True)

    async def _round(self, intake: Intake) -> None:
        session = await self._ask_session(self._options.timeout_s)
        if session != self._session:
            self._turn_to(session)
        self._say("")
        due = self._schedule.due(self._endpoints(), self._context.clock.monotonic())
        await self._ask_all(intake, due, _AT_ONCE, self._options.timeout_s)
        if self._options.record_frontend and self._known.ray_version not in self._frontends:
            self._frontends.add(self._known.ray_version)
            await self._record_frontend(intake)

    def _endpoints(self) -> dict[str, float]:
        return self._known.endpoints() | dict.fromkeys(self._options.endpoints, 1.0)

    def _turn_to(self, session: str) -> None:
        self._session = session
        self._known = Known(ray_version=self._known.ray_version)
        self._schedule = Schedule(self._options.interval_s)

    async def _ask_session(self, timeout_s: float) -> str:
        """The session whose dashboard this is; raises `Unavailable` if it is not this node's."""
        folder = await asyncio.to_thread(sessions.latest, self._context.temp_dir)
        found = await asyncio.to_thread(sessions.dashboard_address, folder) if folder else ""
        address = self._options.address or found or _DEFAULT_ADDRESS
        if self._client is None or self._client.address != address.rstrip("/"):
            self._client = DashboardClient(address, self._options.token, connections=_AT_ONCE_AT_THE_END)
        reply = await self._on_thread(lambda: self._get(VERSION, timeout_s))
        try:
            version = msgspec.json.decode(reply.body, type=_Version)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise Unavailable(f"{address}{VERSION} is answered {reply.status}, and not by Ray") from error
        if folder is not None and version.session_name != folder.name:
            raise Unavailable(
                f"the dashboard at {address} is of {version.session_name}, this node is of {folder.name}",
                remedy="if this lasts, set address in [collector.source_options.dashboard]",
            )
        self._known.ray_version = ids.version(version.ray_version)
        return ids.session_name(version.session_name)

    async def _ask_all(
        self, intake: Intake, endpoints: Iterable[str], at_once: int, timeout_s: float
    ) -> None:
        """Ask for them, several at a time, and store each answer as it comes.

        A connection that breaks ends the round: the head may be another one when it answers again.
        """
        self._broken = False
        queue = iter([VERSION, *endpoints])

        async def work() -> None:
            for endpoint in queue:
                if self._broken:
                    return
                try:
                    await self._ask(intake, endpoint, timeout_s)
                except RayhistError as error:
                    self._say(str(error), error.remedy)

        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(work())

    async def _ask(self, intake: Intake, endpoint: str, timeout_s: float) -> None:
        fetched_at = self._context.clock.time_ms()
        try:
            reply, body = await self._on_thread(lambda: self._asked(endpoint, timeout_s))
        except ConnectionLost:
            self._broken = True
            return
        except Unavailable:  # too slow this time
            self._schedule.answered(endpoint, status=599, seconds=timeout_s, size=0)
            return
        self._schedule.answered(endpoint, status=reply.status, seconds=reply.seconds, size=len(reply.body))
        if body is not None and not self._broken:
            answer = Answer(endpoint, fetched_at, reply.status, msgspec.Raw(body))
            await intake.answers(self._session, [answer])

    def _asked(self, endpoint: str, timeout_s: float) -> tuple[Reply, bytes | None]:
        """The reply, and its body as JSON if it is worth keeping; a big body is work for a thread, too."""
        reply = self._get(endpoint, timeout_s)
        body = _json(reply)
        if reply.status == _OK and body is not None:
            self._known.learn(endpoint, body)
        return reply, body if _worth_keeping(endpoint, reply) else None

    def _get(self, endpoint: str, timeout_s: float) -> Reply:
        assert self._client is not None
        reply = self._client.get(endpoint, timeout_s=timeout_s)
        if reply.status in _NOT_LET_IN:
            raise Unavailable(
                f"{self._client.address} does not let the collector in ({reply.status})",
                remedy="give it Ray's token: RAY_AUTH_TOKEN, or token in"
                " [collector.source_options.dashboard]",
            )
        return reply

    async def _on_thread(self, work: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def _record_frontend(self, intake: Intake) -> None:
        version = self._known.ray_version
        try:
            assets = await self._on_thread(lambda: list(self._frontend(version)))
            for path, data in assets:
                await intake.file(layout.key(FrontendFile(version, path)), data)
        except RayhistError as error:
            self._log.warning("the dashboard's pages were not recorded", version=version, error=str(error))
            return
        self._log.info("the dashboard's pages are recorded", version=version, files=len(assets))

    def _frontend(self, version: str) -> Iterator[tuple[str, bytes]]:
        """From the Ray installed beside us, if it is that version; else as the dashboard shows it."""
        folder = frontends.installed(version)
        if folder is not None:
            return frontends.from_folder(folder)
        return frontends.from_dashboard(lambda path: self._get(path, self._options.timeout_s))

    def _say(self, problem: str, remedy: str | None = None) -> None:
        """Log a change of the state, not each attempt."""
        kind = problem.partition(": ")[0]
        if kind == self._said:
            return
        if problem:
            more: dict[str, Any] = {"remedy": remedy} if remedy else {}
            self._log.warning("waiting for the dashboard", error=problem, **more)
        else:
            self._log.info("the dashboard answers", session=self._session)
        self._said = kind


class _Version(msgspec.Struct):
    session_name: str
    ray_version: str


class _Raylet(msgspec.Struct, frozen=True):
    state: str = ""


class _Detail(msgspec.Struct):
    raylet: _Raylet = _Raylet()


class _DetailData(msgspec.Struct):
    detail: _Detail


class _DetailAnswer(msgspec.Struct):
    data: _DetailData


def _worth_keeping(endpoint: str, reply: Reply) -> bool:
    """A dead node's details have lost its hardware and its processes: the last ones of its life stay."""
    if not endpoint.startswith("/nodes/"):
        return True
    try:
        answer = msgspec.json.decode(reply.body, type=_DetailAnswer)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return False
    return answer.data.detail.raylet.state == "ALIVE"


def _json(reply: Reply) -> bytes | None:
    """The body as JSON: as it is, or a text error as a JSON string; `None` if it is neither."""
    try:
        msgspec.json.decode(reply.body, type=msgspec.Raw)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        if reply.status == _OK or not reply.kind.startswith("text/plain"):
            return None
        return msgspec.json.encode(reply.body.decode("utf-8", "replace"))
    return reply.body
