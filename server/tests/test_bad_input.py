"""Whatever is sent, the answer is a clear one, and nothing outside the session is ever in it."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .conftest import Recorded
from .raw import Answer, ask

RAYS_OWN_500 = (
    "Unknown view",
    "Could not find log file for",
    "Could not find a log file",
    "A file is not found",
    "Agent for node id",
    "Worker ID for Actor ID",
    "Train state data is not available",
    "not in /",
)
"""Ray answers these with status 500, and its clients look for the text."""

HOSTILE = (
    "..",
    "../../../../etc/passwd",
    "%2e%2e",
    "..%2f..%2fetc%2fpasswd",
    "/etc/passwd",
    "//evil",
    "\0",
    "a\0b",
    "'; DROP TABLE tasks; --",
    '"><script>alert(1)</script>',
    "\\..\\..\\windows",
    "x" * 5000,
    "-1",
    "9" * 400,
    "1e309",
    "NaN",
    "null",
    "[]",
    "{}",
    " ",
    "",
    "*",
    "**/*",
    "[",
    "ü\u2028\U0001f680",
    "%",
    "%s%n",
    "ffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "FF" * 28,
)

IDS = (
    "/nodes/{}",
    "/logical/actors/{}",
    "/api/jobs/{}",
    "/api/jobs/{}/logs",
    "/api/data/datasets/{}",
    "/api/packages/gcs/{}",
    "/static/{}",
    "/{}",
)

_LIST = ("limit", "timeout", "detail", "exclude_driver", "filter_keys", "filter_predicates", "filter_values")
PARAMETERS = {
    "/nodes": ("view",),
    "/logical/actors": ("ids",),
    "/events": ("job_id", "view"),
    "/api/serve/applications/": ("api_type",),
    "/api/cluster_status": ("format",),
    "/api/v0/tasks": _LIST,
    "/api/v0/actors": _LIST,
    "/api/v0/jobs": _LIST,
    "/api/v0/nodes": _LIST,
    "/api/v0/workers": _LIST,
    "/api/v0/placement_groups": _LIST,
    "/api/v0/objects": _LIST,
    "/api/v0/runtime_envs": _LIST,
    "/api/v0/cluster_events": _LIST,
    "/api/v0/tasks/summarize": ("summary_by", *_LIST),
    "/api/v0/actors/summarize": _LIST,
    "/api/v0/objects/summarize": _LIST,
    "/api/v0/tasks/timeline": ("job_id", "download"),
    "/api/v0/logs": ("node_id", "node_ip", "glob", "timeout"),
    "/api/v0/logs/file": (
        "node_id",
        "node_ip",
        "filename",
        "actor_id",
        "task_id",
        "attempt_number",
        "pid",
        "submission_id",
        "suffix",
        "lines",
        "filter_ansi_code",
        "download_filename",
        "interval",
        "timeout",
    ),
}


def check(answer: Answer) -> None:
    """A clear answer: no fault, no stack trace, nothing of this machine, no login asked for."""
    text = answer.body.decode("utf-8", "replace")
    assert answer.status not in {401, 403}
    assert answer.status < 500 or any(part in text for part in RAYS_OWN_500), text
    assert answer.status < 400 or "Traceback" not in text  # jobs and tasks may have failed with one
    assert "root:x:" not in text
    assert answer.headers["x-content-type-options"] == "nosniff"
    for name, value in answer.headers.items():
        assert "\r" not in value, name
        assert "\n" not in value, name


@pytest.mark.parametrize("template", IDS)
def test_a_hostile_id_is_not_found_or_refused(recorded: Recorded, template: str) -> None:
    for value in HOSTILE:
        for spelt in (quote(value, safe=""), quote(value, safe="/.%")):
            check(ask(recorded.client, (recorded.base + template.format(spelt)).encode()))


@pytest.mark.parametrize("path", PARAMETERS)
def test_a_hostile_parameter_is_refused_or_finds_nothing(recorded: Recorded, path: str) -> None:
    for name in PARAMETERS[path]:
        for value in HOSTILE:
            query = f"{name}={quote(value, safe='')}".encode()
            check(ask(recorded.client, (recorded.base + path).encode(), query))


@pytest.mark.parametrize("column", ["task_id", "attempt_number", "is_debugger_paused", "nosuch", "'; --"])
def test_a_hostile_filter_is_refused_or_finds_nothing(recorded: Recorded, column: str) -> None:
    for value in HOSTILE:
        query = f"filter_keys={quote(column)}&filter_predicates=%3D&filter_values={quote(value, safe='')}"
        answer = ask(recorded.client, (recorded.base + "/api/v0/tasks").encode(), query.encode())
        check(answer)
        assert answer.status in {200, 400}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    path=st.sampled_from(sorted(PARAMETERS)),
    pairs=st.lists(
        st.tuples(st.integers(0, 20), st.sampled_from(HOSTILE) | st.text(max_size=30)), max_size=6
    ),
)
def test_any_mix_of_parameters_has_a_clear_answer(
    recorded: Recorded, path: str, pairs: list[tuple[int, str]]
) -> None:
    names = PARAMETERS[path]
    query = "&".join(f"{names[number % len(names)]}={quote(value, safe='')}" for number, value in pairs)
    check(ask(recorded.client, (recorded.base + path).encode(), query.encode()))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tail=st.binary(max_size=60), below=st.booleans(), query=st.binary(max_size=40))
def test_any_bytes_for_an_address_have_a_clear_answer(
    recorded: Recorded, tail: bytes, below: bool, query: bytes
) -> None:
    start = recorded.base.encode() if below else b""
    check(ask(recorded.client, start + b"/" + tail, query))


@pytest.mark.parametrize(
    "address",
    [
        "/s/raycluster/recorded/cluster/session_x/timezone",
        "/s/raycluster/recorded/cluster/..%2f..%2fx/timezone",
        "/s/raycluster/..%2f../cluster/session_2026-11-30_15-30-13_707929_24810/timezone",
        "/s/raycluster/UPPER/cluster/session_2026-11-30_15-30-13_707929_24810/timezone",
        "/s/raycluster/recorded/clu_ster/session_2026-11-30_15-30-13_707929_24810/timezone",
        "/s/raycluster/recorded/%00/session_2026-11-30_15-30-13_707929_24810/timezone",
        "/s/raycluster/recorded/" + "c" * 3000 + "/session_2026-11-30_15-30-13_707929_24810/timezone",
    ],
)
def test_a_hostile_session_s_address_is_a_bad_request_or_nothing(recorded: Recorded, address: str) -> None:
    answer = ask(recorded.client, address.encode())
    check(answer)
    assert answer.status in {400, 404}
    assert len(answer.body) < 600


@pytest.mark.parametrize(
    "address",
    [
        "/s/raycluster/recorded/cluster/session_2026-11-30_15-30-13_707929_99999",
        "/s/raycluster/elsewhere/cluster/session_2026-11-30_15-30-13_707929_24810",
        "/s/rayjob/recorded/owner/cluster/session_2026-11-30_15-30-13_707929_24810",
        "/s/raycluster/nobody/cluster/latest",
    ],
)
def test_a_session_that_does_not_exist_is_named(recorded: Recorded, address: str) -> None:
    answer = recorded.client.get(address + "/api/jobs/")
    page = recorded.client.get(address + "/", headers={"accept": "text/html"})
    assert answer.status_code == page.status_code == 404
    cluster = address.removeprefix("/s/").rpartition("/")[0]
    assert cluster in answer.text
    assert cluster in page.text
    assert "<h1>Not found</h1>" in page.text


def test_a_log_outside_the_session_s_logs_cannot_be_read(recorded: Recorded) -> None:
    node = next(iter(recorded.recording.answer("/nodes?view=summary").value["data"]["summary"]))
    node_id = node["raylet"]["nodeId"]
    for name in (
        "../manifest.json",
        "/etc/passwd",
        "..%2fmanifest.json",
        "old/../../manifest.json",
        "a/../../x",
    ):
        answer = recorded.client.get(
            recorded.base + "/api/v0/logs/file", params={"node_id": node_id, "filename": name}
        )
        assert answer.status_code in {400, 404, 500}
        assert "node_id" not in answer.text
        assert "root:" not in answer.text
