"""From the local time in a session's name to UTC.

Ray names a session by the head's local time, and says nowhere in which zone.  Zones differ from UTC by whole
quarters of an hour, so a rough UTC time (the oldest file of the session) tells the offset exactly.
"""

from __future__ import annotations

from datetime import UTC, datetime

_QUARTER_MS = 15 * 60 * 1000
_MAX_OFFSET_MS = 14 * 60 * 60 * 1000


def to_utc_ms(session: str, *, evidence_ms: int = 0, offset: str = "") -> int:
    """When the session began, epoch ms.

    `offset` is the head's offset as its dashboard states it (`+05:30`); failing that, `evidence_ms` is a
    UTC time shortly after the start.  With neither, or if they contradict the name, the evidence itself
    is returned (0 if there is none).
    """
    try:
        local_ms = _as_if_utc_ms(session)
    except ValueError:  # the 31st of February
        return evidence_ms
    minutes = _offset_minutes(offset)
    if minutes is not None:
        return local_ms - minutes * 60 * 1000
    if not evidence_ms:
        return 0
    difference = round((local_ms - evidence_ms) / _QUARTER_MS) * _QUARTER_MS
    if abs(difference) > _MAX_OFFSET_MS:
        return evidence_ms
    return local_ms - difference


def _as_if_utc_ms(session: str) -> int:
    date, clock, microseconds = session.removeprefix("session_").split("_")[:3]
    parsed = datetime.strptime(f"{date} {clock}", "%Y-%m-%d %H-%M-%S").replace(tzinfo=UTC)
    return int(parsed.timestamp()) * 1000 + int(microseconds) // 1000


def _offset_minutes(offset: str) -> int | None:
    sign, hours, colon, minutes = offset[:1], offset[1:3], offset[3:4], offset[4:]
    if sign not in {"+", "-"} or colon != ":" or not (hours.isdecimal() and minutes.isdecimal()):
        return None
    total = int(hours) * 60 + int(minutes)
    return -total if sign == "-" else total
