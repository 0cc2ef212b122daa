"""What all answers have in common: tags, compression, HEAD, headers, refusals."""

from __future__ import annotations

import asyncio
import gzip
from typing import Any

import pytest
from litestar.testing import TestClient

from rayhist.memory import MemoryStore
from rayhist_server.answers import attachment
from rayhist_testkit import generator

from .conftest import MakeApp, Recorded
from .raw import ask

SMALL = generator.Shape(tasks=5, jobs=1, nodes=1, workers=1)
BROWSER = {"user-agent": "Mozilla/5.0 (X11)"}


def test_an_unchanged_answer_is_304_without_a_body(recorded: Recorded) -> None:
    for path in ("/nodes?view=summary", "/api/jobs/", "/api/v0/tasks?detail=1&limit=10", "/logical/actors"):
        first = recorded.client.get(recorded.base + path)
        again = recorded.client.get(
            recorded.base + path, headers={"if-none-match": f'"other", {first.headers["etag"]}'}
        )
        assert first.headers["cache-control"] == "private, no-cache"
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == first.headers["etag"]


def test_a_browser_s_redacted_answer_has_a_tag_of_its_own(recorded: Recorded) -> None:
    plain = recorded.client.get(recorded.base + "/api/jobs/")
    given = BROWSER | {"if-none-match": plain.headers["etag"]}
    assert recorded.client.get(recorded.base + "/api/jobs/", headers=given).status_code == 200


def test_errors_have_no_tag(recorded: Recorded) -> None:
    for path in ("/nodes", "/api/jobs/nosuch", "/api/v0/tasks?limit=x", "/no/such"):
        assert "etag" not in recorded.client.get(recorded.base + path).headers


def test_a_large_answer_is_compressed_for_those_who_take_it(recorded: Recorded) -> None:
    path = recorded.base + "/logical/actors"
    plain = recorded.client.get(path, headers={"accept-encoding": "identity"})
    with recorded.client.stream("GET", path, headers={"accept-encoding": "gzip"}) as packed:
        raw = b"".join(packed.iter_raw())
    assert "content-encoding" not in plain.headers
    assert (packed.headers["content-encoding"], packed.headers["vary"]) == ("gzip", "Accept-Encoding")
    assert len(raw) == int(packed.headers["content-length"]) < len(plain.content) / 3
    assert gzip.decompress(raw) == plain.content


def test_head_has_the_headers_of_get_and_no_body(recorded: Recorded) -> None:
    for path in ("/api/jobs/", "/nodes", "/api/v0/platform_events", "/no/such"):
        assert ask(recorded.client, (recorded.base + path).encode(), method="HEAD").body == b""
        got, headed = (recorded.client.request(method, recorded.base + path) for method in ("GET", "HEAD"))
        assert headed.content == b""
        assert headed.status_code == got.status_code
        assert headed.headers.get("content-type") == got.headers.get("content-type")


def test_head_of_platform_events_is_404_so_that_the_frontend_hides_the_page(recorded: Recorded) -> None:
    assert recorded.client.head(recorded.base + "/api/v0/platform_events").status_code == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize(
    "path", ["/api/jobs/", "/api/jobs/x", "/api/serve/applications/", "/nodes", "/api/v0/tasks", "/"]
)
def test_a_write_is_refused_in_words_that_say_that_this_is_a_recording(
    recorded: Recorded, method: str, path: str
) -> None:
    answer = recorded.client.request(method, recorded.base + path, content=b"{}")
    assert answer.status_code == 405
    assert "recorded session" in answer.text


@pytest.mark.parametrize(
    "path",
    [
        "/task/traceback?task_id=x",
        "/worker/cpu_profile?pid=1",
        "/memory_profile",
        "/api/v0/logs/stream?node_id=x&filename=y",
        "/api/jobs/x/logs/tail",
    ],
)
def test_what_needs_a_living_process_is_refused_in_plain_words(recorded: Recorded, path: str) -> None:
    answer = recorded.client.get(recorded.base + path)
    assert answer.status_code == 410
    assert f"{recorded.session.path} is a recorded session" in answer.text


def test_no_answer_of_a_session_can_be_taken_for_a_page(recorded: Recorded) -> None:
    for path in ("/api/jobs/<script>", "/nodes?view=<script>", "/api/jobs/raysubmit_<b>/logs"):
        answer = recorded.client.get(recorded.base + path)
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-type"].startswith(("text/plain", "application/json"))


def test_the_description_of_the_routes_can_be_read(recorded: Recorded) -> None:
    described = recorded.client.get("/schema").json()
    below = "/s/raycluster/{namespace}/{cluster}/{session}"
    assert {"/", "/api/v1/sessions", below + "/api/v0/tasks"} <= described["paths"].keys()


def test_a_recording_tells_what_of_it_could_not_be_read(recorded: Recorded) -> None:
    known = recorded.client.get(recorded.base + "/api/v1/session").json()
    assert known["session"] == recorded.session.path
    assert known["report"]["events"] > 1000
    assert known["end"]["ended"] is False


def test_one_session_can_stand_at_the_root(make_app: MakeApp, store: MemoryStore) -> None:
    from rayhist_server.sessions import parse_address

    session = asyncio.run(generator.lay_out(store, SMALL))
    only = parse_address(f"{session.cluster.path}/latest")
    with TestClient(make_app(store, only=only)) as client:
        assert client.get("/api/version").json()["session_name"] == session.name
        assert client.get("/api/v0/tasks").json()["data"]["result"]["total"] > 0
        assert client.get(f"/s/{session.path}/api/version").status_code == 200
        assert client.get("/").text.startswith("the archive has no dashboard frontend")


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("file.txt", 'attachment; filename="file.txt"'),
        ('a"b.txt', "attachment; filename=\"a_b.txt\"; filename*=UTF-8''a%22b.txt"),
        ("ü\r\nx", "attachment; filename=\"___x\"; filename*=UTF-8''%C3%BC%0D%0Ax"),
        ("a;b=\\", "attachment; filename=\"a;b=_\"; filename*=UTF-8''a%3Bb%3D%5C"),
    ],
)
def test_no_file_name_breaks_out_of_its_header(name: str, header: Any) -> None:
    assert attachment(name) == header
