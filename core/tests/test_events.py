"""Events are read in both dialects, whatever form numbers and times have."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayhist import events
from rayhist.errors import DataError
from rayhist_testkit import generator
from rayhist_testkit.recordings import RAY_2_60, Recording

RECORDED = Recording(RAY_2_60).all_events
GENERATED = [line.data for line in generator.events(generator.Shape(tasks=50))]
USER_MAPS = {"labels", "resources", "requiredResources", "labelSelector", "metadata", "refIds"}


def _snake(value: Any) -> Any:
    """As Ray posts it with `…_PRESERVE_PROTO_FIELD_NAME`."""
    if isinstance(value, list):
        return [_snake(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name): one
        if name in USER_MAPS
        else _snake(one)
        for name, one in value.items()
    }


def test_both_dialects_say_the_same() -> None:
    """Every event of the recording, of every type."""
    kinds = set()
    for line in RECORDED:
        event = events.decode(line)
        assert events.decode(json.dumps(_snake(json.loads(line))).encode()) == event
        kinds.add(event.event_type)
    assert len(kinds) == 12


def test_every_type_has_its_payload() -> None:
    for line in RECORDED:
        event = events.decode(line)
        payloads = [
            name
            for name in event.__struct_fields__
            if name.endswith(("_event", "_events")) and getattr(event, name)
        ]
        assert len(payloads) == 1, event.event_type


def _numbers_as(value: Any, form: type) -> Any:
    if isinstance(value, dict):
        return {name: one if name in USER_MAPS else _numbers_as(one, form) for name, one in value.items()}
    if isinstance(value, list):
        return [_numbers_as(one, form) for one in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return form(value)
    is_number = isinstance(value, str) and value.isdigit() and len(value) < 20
    return form(value) if is_number else value


@pytest.mark.parametrize("form", [int, str])
def test_numbers_may_be_texts(form: type) -> None:
    """protoJSON prints 64 bits as a text and 32 as a number, and reads either."""
    for line in [*RECORDED[:300], *GENERATED]:
        other = json.dumps(_numbers_as(json.loads(line), form)).encode()
        assert events.decode(other) == events.decode(line)


def test_what_is_not_known_is_ignored() -> None:
    event = json.loads(GENERATED[-1])
    event["somethingNew"] = {"deep": [1, {"er": None}]}
    event["driverJobLifecycleEvent"]["alsoNew"] = "x"

    assert events.decode(json.dumps(event).encode()) == events.decode(GENERATED[-1])


def test_a_type_that_is_not_known_is_an_event_without_a_payload() -> None:
    event = events.decode(b'{"eventType":"SOMETHING_NEW","somethingNew":{"a":1}}')

    assert event == events.Event(event_type="SOMETHING_NEW")


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"12",
        b'"x"',
        b"{}",
        b'{"eventType":""}',
        b'{"eventType":1}',
        b'{"eventType":"X","taskLifecycleEvent":[]}',
        b'{"eventType":"X","taskLifecycleEvent":{"taskAttempt":-1}}',
        b'{"eventType":"X","taskLifecycleEvent":{"workerPid":"99999999999"}}',
        b'{"eventType":"X","taskLifecycleEvent":{"taskLogInfo":{"stdoutStart":"1e99"}}}',
        b'{"eventType":"X","taskProfileEvents":{"profileEvents":{"events":[{"startTime":"9223372036854775808"}]}}}',
        b'{"eventType":"\xff"}',
        b'{"eventType":"\\ud800"}',
        b'{"event_type":"X","task_lifecycle_event":{"task_id":7}}',
        b'{"a":' * 5000 + b"1" + b"}" * 5000,
    ],
)
def test_what_is_no_event_is_refused(line: bytes) -> None:
    with pytest.raises(DataError, match="not an event"):
        events.decode(line)


@given(st.binary(max_size=200) | st.text().map(str.encode))
def test_arbitrary_bytes_are_an_event_or_refused(line: bytes) -> None:
    try:
        events.decode(line)
    except DataError:
        return


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@given(
    whole=st.integers(-62_135_500_000, 253_402_200_000),
    nanoseconds=st.integers(0, 999_999_999),
    digits=st.integers(0, 9),
    offset_minutes=st.none() | st.integers(-14 * 60, 14 * 60),
)
def test_times_have_zero_to_nine_digits_and_any_zone(
    whole: int, nanoseconds: int, digits: int, offset_minutes: int | None
) -> None:
    """Law: what was written is what is read, down to the nanosecond."""
    fraction = f"{nanoseconds:09d}"[:digits]
    local = EPOCH + timedelta(seconds=whole, minutes=offset_minutes or 0)
    text = local.replace(tzinfo=None).isoformat() + (f".{fraction}" if fraction else "")
    if offset_minutes is None:
        text += "Z"
    else:
        hours, minutes = divmod(abs(offset_minutes), 60)
        text += f"{'-' if offset_minutes < 0 else '+'}{hours:02d}:{minutes:02d}"

    assert events.timestamp_ns(text) == whole * 10**9 + int(fraction.ljust(9, "0") or "0")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026-01-02",
        "2026-01-02T03:04:05",
        "2026-01-02 03:04:05Z",
        "2026-01-02T03:04:05.Z",
        "2026-01-02T03:04:05.1234567890Z",
        "2026-01-02T03:04:05.12345678_Z",
        "2026-01-02T03:04:05.+23456789Z",
        "2026-01-02T03:04:05.\u0661\u0662\u0663\u0664\u0665\u0666\u0667\u0668\u0669Z",
        "2026-13-02T03:04:05.123456789Z",
        "2026-01-02T25:04:05.123456789Z",
        "2026-01-02T03:04:05.123456789",
        "2026-01-02T03:04:05.123456789Z\n",
        "2026-W01-1T03:04:05Z",
        "0000-01-02T03:04:05Z",
    ],
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(DataError, match="not an RFC 3339 time"):
        events.timestamp_ns(text)


@given(st.text(max_size=40))
def test_an_arbitrary_text_is_a_time_or_refused(text: str) -> None:
    try:
        events.timestamp_ns(text)
    except DataError:
        return
