"""The history server as a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

from rayhist.errors import RayhistError
from rayhist.ids import Session
from rayhist_testkit.cluster import processes
from rayhist_testkit.cluster.dashboard import Dashboard
from rayhist_testkit.cluster.environment import plain_environment
from rayhist_testkit.cluster.waiting import until
from rayhist_testkit.ports import free_ports

_READY_WITHIN_S = 60
_STOP_WITHIN_S = 20
_ENDED_WITHIN_S = 30
_REPLAYED_WITHIN_S = 120


class HistoryServer:
    """`rayhist serve` on loopback over the archive at `storage_url`, for as long as the `with` block lasts.

    Its configuration, cache and output are in `folder`; `port` 0 takes a free one.
    """

    def __init__(
        self,
        storage_url: str,
        folder: Path,
        *,
        port: int = 0,
        storage_options: dict[str, Any] | None = None,
        environment: dict[str, str] | None = None,
    ) -> None:
        [free] = free_ports(1)
        self.port = port or free
        self.url = f"http://127.0.0.1:{self.port}/"
        self.output = folder / "server.log"
        self._folder = folder
        self._environment = environment or {}
        self._configuration = {
            "storage": {"url": storage_url, "options": storage_options or {}},
            "server": {
                "host": "127.0.0.1",
                "port": self.port,
                "refresh_interval_s": 1.0,
                "lost_after_s": 5.0,
            },
            "cache": {"path": str(folder / "cache")},
        }
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        file = self._folder / "server.json"
        file.write_text(json.dumps(self._configuration, indent=2), encoding="utf-8")
        self._child = processes.start(
            [sys.executable, "-m", "rayhist.cli", "serve", "--config", file],
            folder=self._folder,
            environment={**plain_environment(), **self._environment},
            output=self.output,
        )
        try:
            until(self._ready, "the server is ready", within_s=_READY_WITHIN_S, remedy=f"see {self.output}")
        except BaseException:
            processes.kill(self._folder)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        assert self._child is not None
        try:
            processes.terminate([self._child], within_s=_STOP_WITHIN_S)
        finally:
            processes.kill(self._folder)

    @property
    def root(self) -> Dashboard:
        """The routes of the server itself."""
        return Dashboard(self.url)

    def session_url(self, session: Session, *, last_known: bool = False) -> str:
        """Where the session's dashboard stands; `last_known`, the one that concludes nothing from its end."""
        return f"{self.url}s/{session.path}{'@last-known' if last_known else ''}/"

    def session(self, session: Session) -> Dashboard:
        """The routes of one session's dashboard."""
        return Dashboard(self.session_url(session))

    def until_ended(self, session: Session) -> None:
        """Wait until the server concludes that the cluster is no more; then open the session."""

        def ended() -> bool:
            listed = self.root.json("api/v1/sessions")["sessions"]
            states = {one["path"]: one["state"] for one in listed}
            return states.get(f"/s/{session.path}/") not in {None, "running"}

        until(ended, f"the session {session.name} is listed as ended", within_s=_ENDED_WITHIN_S)
        opened = self.session(session)
        until(lambda: opened.answers("api/version"), "the session is replayed", within_s=_REPLAYED_WITHIN_S)

    def wait(self) -> int:
        """Serve until the process ends by itself; returns its exit status."""
        assert self._child is not None
        return self._child.wait()

    def _ready(self) -> bool:
        assert self._child is not None
        if self._child.poll() is not None:
            told = self.output.read_text(encoding="utf-8", errors="replace")[-2000:]
            raise RayhistError(f"the server ended with status {self._child.returncode}:\n{told}")
        return self.root.answers("readyz")
