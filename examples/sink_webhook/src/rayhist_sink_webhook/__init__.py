"""The `webhook` sink: an HTTP request for each job that has finished, with a link to its page."""

import msgspec

from rayhist.config import Seconds, Secret
from rayhist.hookspecs import hookimpl
from rayhist.kinds import SinkKind
from rayhist.sink import Sink, SinkContext


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Options of the `webhook` sink."""

    url: str
    """Where to post to, `https://…`."""
    server: str
    """Address of the history server as people reach it, for the links."""
    token: Secret | None = None
    """Sent as `Authorization: Bearer …`: `{ env = "…" }` or `{ file = "…" }`."""
    timeout_s: Seconds = 10.0
    """Seconds to wait for the answer."""


def open_sink(context: SinkContext, options: Options) -> Sink:
    from rayhist_sink_webhook.sink import WebhookSink

    return WebhookSink(context, options)


@hookimpl
def rayhist_sink() -> SinkKind:
    return SinkKind(api=1, name="webhook", options=Options, open=open_sink)
