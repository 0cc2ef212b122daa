"""The `dashboard` source (head only): what only Ray's dashboard can say, asked for while it lives."""

from __future__ import annotations

import msgspec

from rayhist.config import Seconds, Secret
from rayhist.hookspecs import hookimpl
from rayhist.kinds import SourceKind
from rayhist.source import Source, SourceContext


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of the `dashboard` source."""

    address: str = ""
    """URL of Ray's dashboard; empty: as the session's `dashboard.log` says, else `http://127.0.0.1:8265`."""
    interval_s: Seconds = 5.0
    """Seconds between two rounds; endpoints with big or slow answers take part in fewer of them."""
    timeout_s: Seconds = 30.0
    """Seconds that an answer may take."""
    final_timeout_s: Seconds = 8.0
    """Seconds that an answer may take in the last sweep."""
    token: Secret | None = None
    """Token for a dashboard with `RAY_AUTH_MODE=token`; else `RAY_AUTH_TOKEN` or `RAY_AUTH_TOKEN_PATH`."""
    endpoints: tuple[str, ...] = ()
    """Further endpoints to ask in every round, path with query, such as `/api/v0/jobs?detail=1`."""
    record_frontend: bool = True
    """Whether the dashboard's own pages are recorded, once per Ray version, so that replay looks the same."""


def open_source(context: SourceContext, options: Options) -> Source:
    from rayhist_collector.dashboard import Dashboard  # noqa: PLC0415 - brings an HTTP client

    return Dashboard(context, options)


@hookimpl
def rayhist_source() -> SourceKind:
    return SourceKind(api=1, name="dashboard", options=Options, open=open_source, roles=("head",))
