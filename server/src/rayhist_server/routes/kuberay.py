"""What clients of KubeRay's history server call: they list the sessions, enter one, and ask at the root.

Shapes: `historyserver/pkg/historyserver/router.go` of KubeRay 1.7.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from litestar import Response
from litestar.di import NamedDependency
from litestar.params import FromPath

from rayhist import ids
from rayhist.catalog import named_ms
from rayhist.errors import NotFound
from rayhist.ids import ClusterKind, Session
from rayhist_server import chosen, wire
from rayhist_server.answers import json_answer
from rayhist_server.routes.answering import answers
from rayhist_server.services import Services
from rayhist_server.sessions import LATEST, MAX_LIMIT
from rayhist_server.words import utc


class ClusterInfo(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True):
    """A session as `/clusters` lists it; the time, in seconds too, is the one in the session's name."""

    name: str
    namespace: str
    session_name: str
    create_time: str
    create_time_stamp: int
    owner_kind: str = ""
    owner_name: str = ""


@answers("/clusters")
async def clusters(services: NamedDependency[Services]) -> Response[bytes]:
    """The newest sessions, at most 1,000, newest first."""
    listed = await services.sessions.all()
    body = wire.encode([_info(session) for session in listed[:MAX_LIMIT]])
    return json_answer(body, headers={"cache-control": "no-store"})


@answers(
    [
        "/enter_cluster/{namespace:str}/{kind:str}/{name:str}",
        "/enter_cluster/{namespace:str}/{kind:str}/{name:str}/{session:str}",
    ]
)
async def enter(
    services: NamedDependency[Services],
    namespace: FromPath[str],
    kind: FromPath[str],
    name: FromPath[str],
    session: FromPath[str] = LATEST,
) -> Response[bytes]:
    """Choose a session, by its cluster's name or by its owner's, for the calls at the server's root."""
    wanted = chosen.kind_of(kind)
    ids.dns_name("namespace", namespace)
    ids.dns_name("name", name)
    found = next(_matching(await services.sessions.all(), namespace, wanted, name, session), None)
    if found is None:
        raise NotFound(f"cluster {namespace}/{kind}/{name} with session {session[:80]} not found")
    answer = {
        "result": "success",
        "name": found.cluster.name,
        "namespace": found.cluster.namespace,
        "session": found.name,
    }
    response = json_answer(wire.encode(answer), headers={"cache-control": "no-store"})
    for cookie in chosen.cookies_for(found.cluster, found.name):
        response.set_cookie(cookie)
    return response


HANDLERS = [clusters, enter]


def _info(session: Session) -> ClusterInfo:
    cluster, at_ms = session.cluster, named_ms(session)
    return ClusterInfo(
        name=cluster.name,
        namespace=cluster.namespace,
        session_name=session.name,
        create_time=utc(at_ms).replace(" ", "T") + "Z",
        create_time_stamp=at_ms // 1000,
        owner_kind=cluster.kind if cluster.owner else "",
        owner_name=cluster.owner,
    )


def _matching(
    newest_first: list[Session], namespace: str, kind: ClusterKind, name: str, session: str
) -> Iterator[Session]:
    """A `raycluster` is any cluster of that name, whoever owns it; other kinds go by the owner's name."""
    for one in newest_first:
        cluster = one.cluster
        named = cluster.name if kind is ClusterKind.RAYCLUSTER else cluster.owner
        owned = kind in {ClusterKind.RAYCLUSTER, cluster.kind}
        if cluster.namespace == namespace and owned and named == name and session in {LATEST, one.name}:
            yield one
