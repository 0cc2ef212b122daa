"""Clients of KubeRay's history server, and a Ray head that forwards to it, choose a session by cookies."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from litestar.testing import TestClient

from rayhist import layout
from rayhist.ids import Cluster, ClusterKind, Session
from rayhist.memory import MemoryStore
from rayhist_server.sessions import parse_address
from rayhist_testkit import kuberay, recordings

from .conftest import MakeApp, application

PLAIN = Cluster(ClusterKind.RAYCLUSTER, "team-a", "trainer")
OWNED = Cluster(ClusterKind.RAYJOB, "team-b", "trainer-x7k2p", "nightly")
OLDER, NEWER = "session_2026-01-01_00-00-00_000000_1", "session_2026-01-02_10-20-30_000000_1"
NODE = "ab" * 28
"""A node that left nothing but a log file."""
COOKIES = ("cluster_name", "cluster_namespace", "session_name", "owner_kind", "owner_name")


class Compatible(msgspec.Struct, frozen=True):
    """The recorded session, owned by a RayJob, and two bare ones of a RayCluster."""

    client: Any
    session: Session
    ids: dict[str, str]

    def fresh(self) -> Any:
        self.client.cookies.clear()
        return self.client

    def entered(self) -> Any:
        client = self.fresh()
        answer = client.get(f"/enter_cluster/team-b/rayjob/nightly/{self.session.name}")
        assert answer.status_code == 200, answer.text
        return client


@pytest.fixture(scope="module")
def compatible(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compatible]:
    store = MemoryStore("chosen")
    session = asyncio.run(kuberay.lay_out(store, recordings.RAY_2_60, cluster=OWNED))
    asyncio.run(store.put(layout.key(layout.LogFile(session, NODE, "raylet.out")), b"started\n"))
    mark(store, PLAIN, OLDER, NEWER)
    ids = recordings.Recording(recordings.RAY_2_60).ids
    with TestClient(application(tmp_path_factory.mktemp("server"), store)) as client:
        yield Compatible(client, session, ids)


def mark(store: MemoryStore, cluster: Cluster, *names: str) -> None:
    for name in names:
        asyncio.run(store.put(layout.key(layout.Marker(Session(cluster, name))), b""))


def test_clusters_are_listed_in_kuberays_shape(compatible: Compatible) -> None:
    owned, newer, older = compatible.fresh().get("/clusters").json()
    assert newer == {
        "name": "trainer",
        "namespace": "team-a",
        "sessionName": NEWER,
        "createTime": "2026-01-02T10:20:30Z",
        "createTimeStamp": 1767349230,
    }
    assert older["sessionName"] == OLDER
    assert (owned["name"], owned["ownerKind"], owned["ownerName"]) == ("trainer-x7k2p", "rayjob", "nightly")
    assert compatible.client.get("/clusters/").json() == [owned, newer, older]


@pytest.mark.parametrize(
    ("path", "name", "session", "owner"),
    [
        ("team-a/raycluster/trainer", "trainer", NEWER, ""),
        ("team-a/raycluster/trainer/latest", "trainer", NEWER, ""),
        (f"team-a/RayCluster/trainer/{OLDER}", "trainer", OLDER, ""),
        ("team-b/rayjob/nightly", "trainer-x7k2p", None, "nightly"),
        ("team-b/raycluster/trainer-x7k2p/latest", "trainer-x7k2p", None, "nightly"),
    ],
)
def test_entering_leaves_the_cookies_that_name_the_session(
    compatible: Compatible, path: str, name: str, session: str | None, owner: str
) -> None:
    client = compatible.fresh()
    session = session or compatible.session.name
    answer = client.get(f"/enter_cluster/{path}")
    namespace = path.partition("/")[0]
    known = {"result": "success", "name": name, "namespace": namespace, "session": session}
    assert answer.json() == known
    kind = "rayjob" if owner else ""
    assert [client.cookies[one].strip('"') for one in COOKIES] == [name, namespace, session, kind, owner]
    headers = answer.headers.get_list("set-cookie")
    assert len(headers) == len(COOKIES)
    assert all("Max-Age=600" in one and "Path=/" in one for one in headers)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("team-a/raycluster/nobody", 404),
        ("team-b/raycluster/trainer", 404),
        ("team-b/rayservice/nightly", 404),
        ("team-a/raycluster/trainer/live", 404),
        ("team-a/raycluster/trainer/session_2000-01-01_00-00-00_000000_1", 404),
        ("team-a/pod/trainer", 400),
        ("team-a/raycluster/..%2F..%2Fetc", 404),
        ("Team_A/raycluster/trainer", 400),
        ("team-a/raycluster/trainer%00", 400),
    ],
)
def test_what_cannot_be_entered_leaves_no_cookie(compatible: Compatible, path: str, status: int) -> None:
    client = compatible.fresh()
    assert client.get(f"/enter_cluster/{path}").status_code == status
    assert not client.cookies


PATHS = [
    "/timezone",
    "/nodes?view=summary",
    "/nodes?view=hostNameList",
    "/events",
    "/logical/actors",
    "/api/jobs/",
    "/api/version",
    "/api/cluster_status?format=1",
    "/api/grafana_health",
    "/api/prometheus_health",
    "/api/serve/applications/",
    "/api/v0/cluster_metadata",
    "/api/v0/tasks?detail=1&limit=10",
    "/api/v0/tasks/summarize?summary_by=func_name",
    "/api/v0/tasks/timeline?job_id=01000000",
    "/api/v0/placement_groups?detail=1&limit=10000",
    "/api/v0/nodes",
    "/api/v1/session",
]


@pytest.mark.parametrize("path", PATHS)
def test_at_the_root_the_chosen_session_answers_as_below_its_address(
    compatible: Compatible, path: str
) -> None:
    client = compatible.entered()
    below = client.get(f"/s/{compatible.session.path}{path}")
    answer = client.get(path)
    assert (answer.status_code, answer.content) == (below.status_code, below.content) == (200, below.content)
    assert len(answer.headers.get_list("set-cookie")) == len(COOKIES)
    assert not below.headers.get_list("set-cookie")


def test_single_things_and_logs_are_found_at_the_root(compatible: Compatible) -> None:
    client = compatible.entered()
    actor = compatible.ids["actor.restarted"]
    assert client.get(f"/logical/actors/{actor}").json()["data"]["detail"]["actorId"] == actor
    assert client.get(f"/nodes/{NODE}").json()["data"]["detail"]["raylet"]["nodeId"] == NODE
    job = client.get("/api/jobs/").json()[0]
    assert client.get(f"/api/jobs/{job['job_id']}").json() == job
    assert client.get(f"/api/v0/logs?node_id={NODE}").json()["data"]["result"]["raylet"] == ["raylet.out"]
    assert client.get(f"/api/v0/logs/file?node_id={NODE}&filename=raylet.out").text == "started\n"
    assert client.get(f"/api/data/datasets/{job['job_id']}").status_code == 200
    assert client.get("/api/v0/logs/stream").status_code == 410


def test_without_a_choice_the_way_to_choose_is_told(compatible: Compatible) -> None:
    for path in PATHS:
        answer = compatible.fresh().get(path)
        assert answer.status_code == 400
        assert "no session is chosen" in answer.text
        assert "/enter_cluster/" in answer.text


@pytest.mark.parametrize("name", COOKIES)
@pytest.mark.parametrize("value", ["../../etc", "a/b", "x" * 5000, "%2e%2e", "a_b", "live", "<script>", "\\"])
def test_made_up_cookies_reach_no_store(compatible: Compatible, name: str, value: str) -> None:
    """Whoever sends cookies may have written them: faults A14 and A15."""
    entered = {one: compatible.entered().cookies[one].strip('"') for one in COOKIES}
    cookies = "; ".join(f"{one}={value if one == name else entered[one]}" for one in COOKIES)
    answer = compatible.fresh().get("/api/jobs/", headers={"cookie": cookies})
    harmless = value == "live" and name in {"cluster_name", "cluster_namespace", "owner_name"}
    assert answer.status_code == (404 if harmless else 400), answer.text
    assert "set-cookie" not in answer.headers or harmless


def test_the_kind_and_the_owner_must_fit(compatible: Compatible) -> None:
    entered = {one: compatible.entered().cookies[one].strip('"') for one in COOKIES}
    for wrong in ({"owner_name": ""}, {"owner_kind": "", "owner_name": ""}):
        cookies = "; ".join(f"{one}={value}" for one, value in (entered | wrong).items())
        answer = compatible.fresh().get("/api/jobs/", headers={"cookie": cookies})
        assert answer.status_code in {400, 404}


def test_selecting_again_leads_to_the_list_and_forgets_the_choice(compatible: Compatible) -> None:
    client = compatible.entered()
    answer = client.get("/select_cluster", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (307, "./")
    assert client.get("/api/jobs/").status_code == 400


def test_a_forwarding_head_shows_its_own_frontend_once_a_session_is_chosen(compatible: Compatible) -> None:
    """It asks here first, and takes 404 as the sign to answer by itself."""
    forwarded = {"content-type": "application/json", "accept": "text/html"}
    assert compatible.fresh().get("/", headers=forwarded).status_code == 200
    client = compatible.entered()
    assert client.get("/", headers=forwarded).status_code == 404
    assert client.get("/static/js/main.js", headers=forwarded).status_code == 404
    assert client.get("/", headers={"accept": "text/html"}).status_code == 200


def test_what_a_frontend_asks_before_a_choice_is_answered(compatible: Compatible) -> None:
    assert compatible.fresh().get("/api/authentication_mode").json() == {"authentication_mode": "disabled"}


def test_kubernetes_probes_are_answered(compatible: Compatible) -> None:
    assert compatible.fresh().get("/livez").text == "ok"
    assert compatible.client.get("/readz").status_code == 200


def test_nothing_can_be_written_at_the_root(compatible: Compatible) -> None:
    assert compatible.entered().post("/api/jobs/", json={"entrypoint": "x"}).status_code == 405


def test_with_a_login_the_root_is_closed_too(
    make_app: MakeApp, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark(store, PLAIN, NEWER)
    monkeypatch.setenv("READER_TOKEN", "0123456789abcdef-token")
    auth = {"kind": "token", "options": {"tokens": {"reader": {"env": "READER_TOKEN"}}}}
    with TestClient(make_app(store, auth=auth)) as client:
        for path in ("/clusters", "/enter_cluster/team-a/raycluster/trainer", "/api/jobs/", "/timezone"):
            assert client.get(path).status_code == 401


def test_where_one_session_stands_at_the_root_nothing_can_be_chosen(
    make_app: MakeApp, store: MemoryStore
) -> None:
    mark(store, PLAIN, NEWER)
    only = parse_address(f"{PLAIN.path}/{NEWER}")
    with TestClient(make_app(store, only=only)) as client:
        assert client.get("/clusters").status_code == 404
        assert client.get("/timezone").status_code == 200
