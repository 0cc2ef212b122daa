"""`rayhist sessions`: what is recorded in the archive."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from rayhist import config
from rayhist.cli import parser
from rayhist.hookspecs import hookimpl
from rayhist.kinds import Command
from rayhist.plugins import Plugins, options_of

if TYPE_CHECKING:
    from rayhist.catalog import SessionEntry
    from rayhist.storage import Store

_HEADER = ("STARTED (UTC)", "STATE", "LAST SEEN (UTC)", "RAY", "CLUSTER", "SESSION", "JOBS")
_ABOUT = """\
List the recorded sessions, newest first.

A session is one life of a cluster's head.  Its state:
  running  its collector was heard of just now
  ended    its collector said so
  lost     its collector fell silent
  unknown  its marker does not say, as KubeRay writes it
A time with `~` is read off the session's name, which has the local time of the head."""


def run(argv: Sequence[str], plugins: Plugins) -> int:
    arguments = parser("sessions", _ABOUT)
    arguments.add_argument("--json", action="store_true", help="one JSON array, times in epoch milliseconds")
    arguments.add_argument(
        "--limit", type=int, default=50, metavar="N", help="at most N sessions; 0 for all (default: 50)"
    )
    chosen = arguments.parse_args(argv)
    if chosen.limit < 0:
        arguments.error(f"--limit: not a number of sessions: {chosen.limit}")
    loaded = config.load(chosen.config)
    url = loaded.storage_url()
    kind = plugins.storage_for(url)
    options = options_of(kind, loaded.storage.options, "$.storage.options")
    found, total = asyncio.run(_newest(kind.open(url, options), chosen.limit, loaded.server.lost_after_s))
    if chosen.json:
        document = msgspec.json.encode([_json(one) for one in found])
        sys.stdout.write(msgspec.json.format(document).decode() + "\n")
    else:
        sys.stdout.write(_table([_HEADER, *map(_row, found)]))
    if total > len(found):
        sys.stderr.write(f"{len(found)} of {total} sessions; --limit 0 shows all\n")
    elif not found:
        sys.stderr.write(f"no sessions in {url}\n")
    return 0


async def _newest(store: Store, limit: int, lost_after_s: float) -> tuple[list[SessionEntry], int]:
    from rayhist import catalog  # noqa: PLC0415 - only this command needs it

    async with store:
        listed = await catalog.listed(store)
        chosen = listed[: limit or None]
        return await catalog.entries(store, chosen, lost_after_s=lost_after_s), len(listed)


def _json(entry: SessionEntry) -> dict[str, object]:
    cluster = entry.session.cluster
    return {
        "kind": cluster.kind,
        "namespace": cluster.namespace,
        "owner": cluster.owner or None,
        "cluster": cluster.name,
        "session": entry.session.name,
        "state": entry.state,
        "start_ms": entry.start_ms,
        "start_is_approximate": entry.start_is_approximate,
        "last_seen_ms": entry.last_seen_ms,
        "end_ms": entry.marker.end_ms or None,
        "ray_version": entry.marker.ray_version or None,
        "jobs": entry.jobs,
    }


def _row(entry: SessionEntry) -> tuple[str, ...]:
    return (
        ("~" if entry.start_is_approximate else "") + _time(entry.start_ms),
        entry.state,
        _time(entry.last_seen_ms),
        _plain(entry.marker.ray_version) if entry.marker.ray_version else "-",
        entry.session.cluster.path,
        entry.session.name,
        _jobs(job.status for job in entry.jobs),
    )


def _jobs(statuses: Iterable[str]) -> str:
    """How many jobs there are in each state, e.g. `2 SUCCEEDED, 1 FAILED`."""
    counts = Counter(statuses)
    return ", ".join(f"{count} {_plain(status)}" for status, count in counts.most_common()) or "-"


def _plain(text: str) -> str:
    """What an archive says, without anything that a terminal would obey."""
    return "".join(letter for letter in text if letter.isprintable()) or "unknown"


def _time(at_ms: int) -> str:
    from rayhist.replay.status import moment  # noqa: PLC0415 - only this command needs it

    return moment(at_ms).removesuffix(" UTC") if at_ms else "-"


def _table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    return "".join(f"{line}\n" for line in lines)


@hookimpl
def rayhist_command() -> Command:
    return Command(api=1, name="sessions", summary="list the recorded sessions", run=run)
