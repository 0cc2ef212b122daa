"""The JSON that the dashboard's routes answer with: envelopes around what is JSON already.

Shapes: answers of Ray 2.60's dashboard (`rest_response` and `do_reply` in `ray.dashboard`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from rayhist.query import Page
from rayhist.replay.polled import Remarks

encode = msgspec.json.encode


def envelope(message: str, data: Mapping[str, bytes], *, result: bool = True) -> bytes:
    """`{"result", "msg", "data"}` around values that are JSON already."""
    head = b'{"result":%s,"msg":%s,"data":' % (b"true" if result else b"false", encode(message))
    return head + members(data.items()) + b"}"


def members(pairs: Iterable[tuple[str, bytes]]) -> bytes:
    """A JSON object of values that are JSON already."""
    return b"{" + b",".join(encode(name) + b":" + value for name, value in pairs) + b"}"


def array(values: Iterable[bytes]) -> bytes:
    """A JSON array of values that are JSON already."""
    return b"[" + b",".join(values) + b"]"


def state_list(page: Page, remarks: Remarks = Remarks()) -> bytes:  # noqa: B008 - it is frozen
    """A list of the state API."""
    return state_result(page.total, page.after_truncation, page.filtered, array(page.rows), remarks)


def state_result(
    total: int,
    after_truncation: int,
    filtered: int,
    result: bytes,
    remarks: Remarks = Remarks(),  # noqa: B008 - it is frozen
) -> bytes:
    """The state API's answer around rows, or around a summary."""
    inner = {
        "total": encode(total if remarks.total is None else remarks.total),
        "num_after_truncation": encode(after_truncation),
        "num_filtered": encode(filtered),
        "result": result,
        "partial_failure_warning": encode(remarks.partial_failure_warning),
        "warnings": encode(remarks.warnings),
    }
    return envelope("", {"result": members(inner.items())})


def state_error(message: str) -> bytes:
    """What the state API answers when it cannot: `data.result` is null."""
    return envelope(message, {"result": b"null"}, result=False)


def wrapped(message: str, **data: Any) -> bytes:
    """An envelope around plain values."""
    return envelope(message, {name: encode(value) for name, value in data.items()})
