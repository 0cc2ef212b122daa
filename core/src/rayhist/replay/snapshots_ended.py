"""What recorded answers become when their cluster has ended: nothing goes on, and the pages say so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from rayhist.replay.context import End
from rayhist.replay.status import ended
from rayhist.source import Answer

SERVE = "/api/serve/applications"
DATASETS = "/api/data/datasets/"


def concluded(answer: Answer, end: End) -> msgspec.Raw | dict[str, Any]:
    """The answer's body; changed only if the cluster has ended and the answer tells of what goes on."""
    conclude = _conclusion(answer.endpoint)
    if not end.ended or conclude is None:
        return answer.body
    try:
        body = msgspec.json.decode(answer.body, type=dict[str, Any])
        conclude(body, end)
    except (msgspec.MsgspecError, UnicodeDecodeError, AttributeError, TypeError):
        return answer.body
    return body


def _conclusion(endpoint: str) -> Callable[[dict[str, Any], End], None] | None:
    if endpoint == SERVE:
        return _serve
    return _datasets if endpoint.startswith(DATASETS) else None


def _serve(body: dict[str, Any], end: End) -> None:
    """An application keeps its last status; its message, if it had none, tells that this is the last one."""
    for application in (body.get("applications") or {}).values():
        application["message"] = application.get("message") or ended(end)


def _datasets(body: dict[str, Any], end: End) -> None:
    for dataset in body.get("datasets") or []:
        end_dataset(dataset, end)


def end_dataset(dataset: dict[str, Any], end: End) -> None:
    """A dataset that was still being computed failed with its cluster."""
    if dataset.get("state") not in {"RUNNING", "PENDING"}:
        return
    dataset["state"] = "FAILED"
    dataset["end_time"] = end.at_ms / 1000
    for operator in dataset.get("operators") or []:
        if operator.get("state") in {"RUNNING", "PENDING"}:
            operator["state"] = "FAILED"
