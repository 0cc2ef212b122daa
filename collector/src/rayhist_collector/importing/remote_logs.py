"""A node's log files as the dashboard shows them."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote, urlencode

import msgspec

from rayhist import ids
from rayhist.errors import BadIdentifier, DataError, RayhistError
from rayhist_collector.dashboard_client import DashboardClient
from rayhist_collector.tail import Mask

_OK = 200
_MAX_FILES = 50_000
_PIECE_BYTES = 1 << 20


class RemoteLogs:
    """Of one node; `problems` are what could not be had, by path, and why."""

    def __init__(self, client: DashboardClient, node: str, mask: Mask | None, timeout_s: float) -> None:
        self._client = client
        self._node = node
        self._mask = mask
        self._timeout_s = timeout_s
        self.problems: dict[str, str] = {}

    def list(self) -> list[str]:
        """Every file's path below `logs/`; folders end in `/` in Ray's answers, and are asked for in turn."""
        found: dict[str, None] = {}
        folders = [""]
        seen = {""}
        while folders and len(found) < _MAX_FILES:
            for name in self._names(folders.pop()):
                if name.endswith("/") and name not in seen:
                    seen.add(name)
                    folders.append(name)
                elif not name.endswith("/") and self._usable(name):
                    found[name] = None
        return sorted(found)

    def _names(self, folder: str) -> Iterator[str]:
        """Some answers name a folder's files from the folder on, some from the file."""
        query = urlencode({"node_id": self._node, "glob": f"{folder}*"})
        try:
            reply = self._client.get(f"/api/v0/logs?{query}", timeout_s=self._timeout_s)
            if reply.status != _OK:
                raise DataError(f"answered {reply.status}")
            groups = msgspec.json.decode(reply.body, type=_Listing).data.result
        except (RayhistError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            self.problems[f"logs/{folder}"] = str(error)
            return
        for names in groups.values():
            for name in names:
                yield name if name.startswith(folder) else folder + name

    def _usable(self, name: str) -> bool:
        try:
            ids.relative_path(name)
        except BadIdentifier as error:
            self.problems[name[:200]] = str(error)
            return False
        return True

    def read(self, path: str) -> Iterator[bytes]:
        """A file's bytes, masked if it is one of those."""
        query = f"node_id={self._node}&filename={quote(path, safe='')}&lines=-1&filter_ansi_code=false"
        try:
            reply = self._client.get(f"/api/v0/logs/file?{query}", timeout_s=self._timeout_s)
        except RayhistError as error:
            self.problems[path] = str(error)
            return
        if reply.status != _OK:
            self.problems[path] = f"answered {reply.status}"
            return
        masked = self._mask is not None and self._mask.concerns(path)
        body = self._mask.masked(reply.body) if self._mask and masked else reply.body
        for start in range(0, len(body), _PIECE_BYTES):
            yield body[start : start + _PIECE_BYTES]


class _Result(msgspec.Struct):
    result: dict[str, list[str]]


class _Listing(msgspec.Struct):
    data: _Result
