"""One replayed session, as the routes see it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import msgspec

from rayhist.ids import Session
from rayhist.index import Index
from rayhist.manifest import SessionMarker
from rayhist.replay.context import End
from rayhist.replay.polled import Remarks
from rayhist.replay.snapshots import LISTING
from rayhist.resources import Resource
from rayhist.source import Answer
from rayhist.storage import Store

_T = TypeVar("_T")


class View:
    """A session's index and archive.  `state` names the index: equal states give equal answers."""

    def __init__(self, session: Session, index: Index, store: Store, state: str) -> None:
        self.session = session
        self.index = index
        self.store = store
        self.state = state
        self.concluded: bool = index.meta("concluded")
        """Whether what went on at the session's end is shown as ended with it."""
        self.end: End = msgspec.convert(index.meta("end"), End)
        self.marker: SessionMarker = msgspec.convert(index.meta("session"), SessionMarker)
        self._kept: dict[str, object] = {}

    def kept(self, key: str, make: Callable[[], _T]) -> _T:
        """What `make` returns, made once per view; for small things that many requests need."""
        if key not in self._kept:
            self._kept[key] = make()
        return cast("_T", self._kept[key])

    def answer(self, endpoint: str) -> Answer | None:
        """The recorded answer of a dashboard endpoint (canonical spelling), whatever its status."""
        found = self.index.document("answer", endpoint)
        if found is None:
            return None
        recorded = msgspec.json.decode(found, type=_Recorded)
        return Answer(endpoint, recorded.fetched_at, recorded.status, recorded.body)

    def good(self, endpoint: str) -> bytes | None:
        """The body of the recorded answer, if that was a good one."""
        answer = self.answer(endpoint)
        return bytes(answer.body) if answer is not None and answer.status == 200 else None

    @property
    def ray_version(self) -> str:
        """As the marker or the recorded metadata says it; `""` if neither does."""
        return self.marker.ray_version or self._metadata.ray_version

    @property
    def python_version(self) -> str:
        """As `ray_version`."""
        return self.marker.python_version or self._metadata.python_version

    @property
    def _metadata(self) -> _Versions:
        body = self.good("/api/v0/cluster_metadata")
        try:
            return _Versions() if body is None else msgspec.json.decode(body, type=_Metadata).data
        except msgspec.MsgspecError:
            return _Versions()

    def remarks(self, resource: Resource) -> Remarks:
        """What Ray said beside a list of the resource, if that was only ever polled."""
        found = self.index.document(LISTING, resource.name)
        return Remarks() if found is None else msgspec.json.decode(found, type=Remarks)

    def decoded(self, endpoint: str) -> Any:
        """The decoded body of the recorded good answer, or `None`."""
        body = self.good(endpoint)
        return None if body is None else msgspec.json.decode(body)


class _Versions(msgspec.Struct, rename="camel"):
    ray_version: str = ""
    python_version: str = ""


class _Metadata(msgspec.Struct):
    data: _Versions


class _Recorded(msgspec.Struct):
    fetched_at: int
    status: int
    body: msgspec.Raw
