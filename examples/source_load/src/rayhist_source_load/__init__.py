"""The `host-load` source: a line with the machine's load now and then, as a log file of the session."""

import msgspec

from rayhist.config import Seconds
from rayhist.hookspecs import hookimpl
from rayhist.kinds import SourceKind
from rayhist.source import Source, SourceContext


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options of the `host-load` source."""

    interval_s: Seconds = 60.0
    """Seconds between two lines."""


def open_source(context: SourceContext, options: Options) -> Source:
    from rayhist_source_load.source import LoadSource

    return LoadSource(context, options)


@hookimpl
def rayhist_source() -> SourceKind:
    return SourceKind(api=1, name="host-load", options=Options, open=open_source)
