"""Runtime environments as browsers see them."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayhist.redaction import PLACEHOLDER
from rayhist.redaction import redact_everything as redact
from rayhist_server.browser import is_browser

from .conftest import Recorded

SECRET = "hunter2-very-secret"
ENVIRONMENT = {"env_vars": {"TOKEN": SECRET, "OTHER": SECRET}, "pip": ["x"]}
REDACTED = {"env_vars": {"TOKEN": PLACEHOLDER, "OTHER": PLACEHOLDER}, "pip": ["x"]}


@pytest.mark.parametrize(
    "headers",
    [
        {"user-agent": "Mozilla/5.0"},
        {"sec-fetch-mode": "cors"},
        {"origin": "http://x"},
        {"referer": "http://x/"},
        {"access-control-request-method": "GET"},
    ],
)
def test_a_browser_is_told_by_its_headers(headers: dict[str, str]) -> None:
    assert is_browser(headers)


def test_tools_are_no_browsers() -> None:
    assert not is_browser({"user-agent": "python-requests/2.32 Mozilla", "accept": "*/*"})


@pytest.mark.parametrize("compact", [True, False])
def test_all_three_forms_lose_their_values_and_keep_their_names(compact: bool) -> None:
    document = {
        "runtime_env": ENVIRONMENT,
        "serialized_runtime_env": json.dumps(ENVIRONMENT),
        "runtime_env_info": {"serialized_runtime_env": json.dumps(ENVIRONMENT), "uris": {}},
        "deep": [{"ray_actor_options": {"runtime_env": ENVIRONMENT}}],
    }
    body = msgspec.json.encode(document) if compact else json.dumps(document).encode()
    text = redact(body)
    assert SECRET.encode() not in text
    found = msgspec.json.decode(text)
    assert found["runtime_env"] == REDACTED
    assert json.loads(found["serialized_runtime_env"]) == REDACTED
    assert json.loads(found["runtime_env_info"]["serialized_runtime_env"]) == REDACTED
    assert found["deep"][0]["ray_actor_options"]["runtime_env"] == REDACTED


def test_what_cannot_be_understood_is_left_out_whole() -> None:
    for broken in (f'{{"env_vars": {{"A": "{SECRET}"', f'["{SECRET}"]', SECRET):
        body = msgspec.json.encode({"serialized_runtime_env": broken})
        assert msgspec.json.decode(redact(body)) == {"serialized_runtime_env": PLACEHOLDER}


def test_rows_without_an_environment_are_not_even_decoded() -> None:
    row = b'{"serialized_runtime_env":"{}","runtime_env":null,"runtime_env_info":{"uris":{}},"n":1.0}'
    assert redact(row) is row


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text().filter(lambda k: "untime" not in k), inner)
    ),
)


@given(PLAIN)
def test_everything_else_stays_as_it_is(value: Any) -> None:
    body = msgspec.json.encode({"other": value, "runtime_env": ENVIRONMENT})
    assert msgspec.json.decode(redact(body)) == {"other": value, "runtime_env": REDACTED}


@pytest.mark.parametrize(
    "path", ["/api/jobs/", "/api/v0/tasks?detail=1&limit=10000", "/api/v0/actors?detail=1&limit=10000"]
)
def test_no_value_of_a_variable_reaches_a_browser(recorded: Recorded, path: str) -> None:
    url = recorded.base + path
    plain = recorded.client.get(url).text
    shown = recorded.client.get(url, headers={"user-agent": "Mozilla/5.0"}).text
    secrets = _values(json.loads(plain))
    assert secrets, "the recording has environments with variables"
    assert not _values(json.loads(shown)) - {PLACEHOLDER}


def _values(document: Any) -> set[str]:
    """The values of all `env_vars` in a document, also in serialized environments."""
    if isinstance(document, list):
        return set().union(*map(_values, document))
    if not isinstance(document, dict):
        return set()
    found: set[str] = set()
    for key, value in document.items():
        if key == "env_vars" and isinstance(value, dict):
            found |= set(map(str, value.values()))
        elif key == "serialized_runtime_env" and value:
            found |= _values(json.loads(value))
        else:
            found |= _values(value)
    return found
