"""The session that a client of KubeRay's history server chose: named by cookies, not by the address.

Names and lifetime of the cookies: `historyserver/pkg/historyserver/router.go` of KubeRay 1.7.  They are input
like any other: whoever sends them may have made them up.
"""

from __future__ import annotations

from collections.abc import Mapping

from litestar.connection import ASGIConnection
from litestar.datastructures import Cookie, MutableScopeHeaders
from litestar.enums import ScopeType
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from rayhist.errors import BadIdentifier
from rayhist.ids import Cluster, ClusterKind
from rayhist_server.sessions import LAST_KNOWN, Address

CLUSTER = "cluster_name"
NAMESPACE = "cluster_namespace"
SESSION = "session_name"
OWNER_KIND = "owner_kind"
OWNER = "owner_name"

_KEPT_S = 600
_REMEDY = "open /enter_cluster/<namespace>/<kind>/<name> first, or ask below a session's own address, /s/…"


def address_of(scope: Scope) -> Address:
    """The address that a request's cookies name.  Raises `BadIdentifier`."""
    return address_in(ASGIConnection(scope).cookies)


def address_in(cookies: Mapping[str, str]) -> Address:
    """The address that cookies name.  Raises `BadIdentifier`."""
    for name in (CLUSTER, NAMESPACE, SESSION):
        if not cookies.get(name):
            raise BadIdentifier(f"no session is chosen: there is no cookie {name}", remedy=_REMEDY)
    kind = kind_of(cookies.get(OWNER_KIND) or ClusterKind.RAYCLUSTER)
    owner = "" if kind is ClusterKind.RAYCLUSTER else cookies.get(OWNER, "")
    return Address.of(Cluster(kind, cookies[NAMESPACE], cookies[CLUSTER], owner), cookies[SESSION])


def kind_of(name: str) -> ClusterKind:
    """A kind in any case.  Raises `BadIdentifier`."""
    try:
        return ClusterKind(name.lower())
    except ValueError:
        raise BadIdentifier(
            f"unsupported resource kind: {name[:80]!r} (must be {', '.join(ClusterKind)})"
        ) from None


def cookies_for(cluster: Cluster, session: str) -> list[Cookie]:
    """The cookies that name a session from now on."""
    owned = cluster.kind is not ClusterKind.RAYCLUSTER
    values = {
        CLUSTER: cluster.name,
        NAMESPACE: cluster.namespace,
        SESSION: session,
        OWNER_KIND: str(cluster.kind) if owned else "",
        OWNER: cluster.owner,
    }
    return [Cookie(key=name, value=value, max_age=_KEPT_S) for name, value in values.items()]


def forwarded(headers: Mapping[str, str]) -> bool:
    """Whether a Ray head forwards the request: unlike a browser, it gives every request a content type."""
    return headers.get("content-type") == "application/json"


def cookies_for_none() -> list[Cookie]:
    """Cookies that make a client forget what it chose."""
    names = (CLUSTER, NAMESPACE, SESSION, OWNER_KIND, OWNER)
    return [Cookie(key=name, value="", max_age=0) for name in names]


class Refreshed(ASGIMiddleware):
    """Keeps a choice alive as long as it is used."""

    scopes = (ScopeType.HTTP,)

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        address = address_of(scope)
        name = address.session + (LAST_KNOWN if address.last_known else "")

        async def refreshing(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableScopeHeaders.from_message(message)
                for cookie in cookies_for(address.cluster, name):
                    headers.add("set-cookie", cookie.to_header(header=""))
            await send(message)

        await next_app(scope, receive, refreshing)
