"""Findings about what went wrong: the plugin's own words, and what can be added to them from here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from rayhist.doctor import proxies
from rayhist.doctor.finding import Finding, State
from rayhist.errors import Denied, NotFound, RayhistError, Unavailable

_TOLERATED_S = 5.0
_REFUSED_S = 300.0
"""Clouds refuse signatures from here on: Alibaba and Amazon at 15 minutes, tokens often at 5."""

_RIGHTS = {
    "list": "to list",
    "write": "to write objects",
    "read": "to read objects",
    "delete": "to delete objects",
    "latency": "to read objects",
    "clock": "to write and read objects",
}
_SET_CLOCK = "set this machine's clock, for example with NTP"


def of_failure(check: str, error: RayhistError, location: str, environment: Mapping[str, str]) -> Finding:
    """The finding of an error, with a remedy whatever the plugin said."""
    remedies = [error.remedy or ""]
    if isinstance(error, Denied) and check in _RIGHTS:
        remedies.append(f"this check needs the right {_RIGHTS[check]} below {location}")
    if isinstance(error, NotFound):
        remedies.append("check the bucket or folder in [storage] url; it has to be there already")
    if isinstance(error, Unavailable):
        remedies.append(proxies.suspicion(environment))
    told = "; ".join(filter(None, remedies))
    return Finding(check, State.FAILED, str(error), told or "check [storage] url and [storage.options]")


def too_late(check: str, location: str, limit_s: float, environment: Mapping[str, str]) -> Finding:
    remedy = proxies.suspicion(environment) or "check the address, and what a firewall lets through"
    return Finding(check, State.FAILED, f"{location}: no answer within {limit_s:g} s", remedy)


def may_not_delete(error: Denied, scratch: str) -> Finding:
    """No failure: the collector records without that right."""
    return Finding(
        "delete",
        State.WARNING,
        f"{error}; {scratch} stays",
        remedy="recording works without the right to delete; let somebody else delete that object",
    )


def of_clock(behind_s: float | None) -> Finding:
    """`behind_s`: seconds by which this clock is behind the store's."""
    if behind_s is None:
        return Finding("clock", State.SKIPPED, "the store says no times")
    text = f"{abs(behind_s):.1f} s {'behind' if behind_s > 0 else 'ahead of'} the store's"
    if abs(behind_s) <= _TOLERATED_S:
        return Finding("clock", State.OK, text)
    if abs(behind_s) < _REFUSED_S:
        return Finding("clock", State.WARNING, text, _SET_CLOCK)
    return Finding("clock", State.FAILED, f"{text}; signatures and tokens are refused for that", _SET_CLOCK)


def from_the_future(modified: Sequence[datetime | None]) -> Finding | None:
    """A reader's only sign of a wrong clock: objects that were written later than now."""
    newest = max((one for one in modified if one is not None), default=None)
    if newest is None:
        return None
    behind_s = (newest - datetime.now(UTC)).total_seconds()
    return of_clock(behind_s) if behind_s > _TOLERATED_S else None
