"""Who may read: tokens, the login form, the dashboard's own dialog."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping

import pytest
from litestar.testing import TestClient

from rayhist.auth import Authenticator, Principal
from rayhist.errors import Unavailable
from rayhist.memory import MemoryStore
from rayhist_testkit import generator

from .conftest import Client, MakeApp, application

TOKEN = "0123456789abcdef-token"
SMALL = generator.Shape(tasks=5, jobs=1, nodes=1, workers=1)


AUTH = {"kind": "token", "options": {"tokens": {"reader": {"env": "READER_TOKEN"}}}}


def lay_out(store: MemoryStore) -> str:
    """A session; returns its address."""
    return f"/s/{asyncio.run(generator.lay_out(store, SMALL)).path}"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, str]]:
    """A server that wants a token, and a session's address on it."""
    store = MemoryStore("access")
    base = lay_out(store)
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("READER_TOKEN", TOKEN)
        app = application(tmp_path_factory.mktemp("server"), store, auth=AUTH)
    with TestClient(app) as client:
        yield client, base


@pytest.fixture
def client(served: tuple[Client, str]) -> Client:
    """A browser that nobody has logged in with yet."""
    served[0].cookies.clear()
    return served[0]


@pytest.fixture
def base(served: tuple[Client, str]) -> str:
    return served[1]


PRIVATE = ("/", "/api/v1/sessions", "/schema")
PRIVATE_BELOW = ("/", "/api/jobs/", "/nodes?view=summary", "/api/v0/tasks", "/timezone", "/task/traceback")


def test_without_a_token_nothing_of_a_session_is_told(client: Client, base: str) -> None:
    for path in (*PRIVATE, *(base + path for path in PRIVATE_BELOW)):
        answer = client.get(path)
        assert (answer.status_code, answer.text) == (401, "Unauthorized: Missing authentication token"), path


def test_a_wrong_token_is_forbidden(client: Client, base: str) -> None:
    answer = client.get(base + "/api/jobs/", headers={"authorization": "Bearer wrong"})
    assert (answer.status_code, answer.text) == (403, "Forbidden: Invalid authentication token")


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": f"Bearer {TOKEN}"},
        {"x-ray-authorization": f"bearer {TOKEN}"},
        {"cookie": f"ray-authentication-token={TOKEN}"},
    ],
)
def test_a_token_is_taken_where_ray_takes_it(client: Client, base: str, headers: dict[str, str]) -> None:
    assert client.get(base + "/api/jobs/", headers=headers).status_code == 200
    assert client.get("/api/v1/sessions", headers=headers).status_code == 200


def test_what_must_be_public_is(client: Client, base: str) -> None:
    for path in ("/healthz", "/readyz", "/metrics", "/assets/rayhist.css", "/login"):
        assert client.get(path).status_code == 200, path
    assert client.get(base + "/api/authentication_mode").json() == {"authentication_mode": "token"}
    assert client.get(base + "/static/js/main.js").status_code == 503  # there is no frontend: but no 401


def test_the_frontend_s_dialog_gets_a_cookie_for_a_token(client: Client, base: str) -> None:
    answer = client.post(base + "/api/authenticate", headers={"authorization": f"Bearer {TOKEN}"})
    assert answer.json() == {"status": "authenticated", "message": "Token is valid"}
    cookie = answer.headers["set-cookie"].lower()
    for part in ("httponly", "samesite=strict", "path=/", "max-age=2592000"):
        assert part in cookie
    assert client.get(base + "/api/jobs/").status_code == 200


def test_the_dialog_is_refused_without_a_right_token(client: Client, base: str) -> None:
    assert client.post(base + "/api/authenticate").status_code == 401
    answer = client.post(base + "/api/authenticate", headers={"authorization": "Bearer wrong"})
    assert (answer.status_code, answer.headers.get("set-cookie")) == (403, None)


def test_a_browser_is_shown_the_login_form_and_comes_back_to_its_page(client: Client, base: str) -> None:
    form = client.get(base + "/", headers={"accept": "text/html"})
    assert form.status_code == 401
    assert f'value="{base[1:]}/"' in form.text
    answer = client.post("/login", data={"token": TOKEN, "next": base[1:] + "/"}, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, f".{base}/")
    assert client.get("/", headers={"accept": "text/html"}).status_code == 200


def test_a_wrong_token_in_the_form_is_told_and_leaves_no_cookie(client: Client) -> None:
    for token in ("wrong", "", "x" * 50_000, "\0", "ü"):
        answer = client.post("/login", data={"token": token, "next": ""}, follow_redirects=False)
        assert answer.status_code == 401
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "after",
    ["//evil.test/", "https://evil.test/", "/\\evil.test", "\\\\evil.test", "javascript:alert(1)", "a\r\nb"],
)
def test_a_login_never_leads_to_another_host(client: Client, after: str) -> None:
    answer = client.post("/login", data={"token": TOKEN, "next": after}, follow_redirects=False)
    assert answer.headers["location"] == "./"


def test_a_body_that_is_no_form_is_a_bad_request(client: Client) -> None:
    for content in (b"", b"\xff\xfe", b"token", b"x" * 70_000):
        answer = client.post(
            "/login", content=content, headers={"content-type": "application/x-www-form-urlencoded"}
        )
        assert answer.status_code in {400, 401, 413}


def test_without_a_login_everything_is_readable_and_the_frontend_is_told_so(
    make_app: MakeApp, store: MemoryStore
) -> None:
    base = lay_out(store)
    with TestClient(make_app(store)) as client:
        assert client.get(base + "/api/jobs/").status_code == 200
        assert client.get(base + "/api/authentication_mode").json() == {"authentication_mode": "disabled"}
        assert client.post(base + "/api/authenticate").status_code == 401


class Down(Authenticator):
    mode = "token"

    async def authenticate(self, headers: Mapping[str, str]) -> Principal:
        raise Unavailable("the identity provider does not answer", remedy="look at its status page")


def test_an_outage_of_the_provider_is_503_and_not_a_wrong_credential(
    make_app: MakeApp, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = lay_out(store)
    monkeypatch.setattr("rayhist.auth_none.Everybody.authenticate", Down().authenticate)
    with TestClient(make_app(store)) as client:
        answer = client.get(base + "/timezone")
    assert answer.status_code == 503
    assert "identity provider" in answer.text
