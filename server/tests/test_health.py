"""Liveness, readiness and metrics."""

from __future__ import annotations

from litestar.testing import TestClient

from rayhist.errors import Denied
from rayhist.memory import MemoryStore
from rayhist_testkit.faults import FlakyStore, WrappedStore

from .conftest import MakeApp


class DeniedStore(WrappedStore):
    async def before(self, operation: str, key: str) -> None:
        raise Denied(f"{key}: AccessDenied", remedy="grant s3:ListBucket")


def test_a_server_with_a_readable_archive_is_ready(make_app: MakeApp, store: MemoryStore) -> None:
    with TestClient(make_app(store)) as client:
        assert client.get("/healthz").text == "ok"
        assert client.get("/readyz").json()["ready"] is True


def test_readiness_says_what_is_wrong_and_liveness_stays(make_app: MakeApp, store: MemoryStore) -> None:
    with TestClient(make_app(DeniedStore(store))) as client:
        answer = client.get("/readyz")
        assert client.get("/healthz").status_code == 200
    assert answer.status_code == 503
    assert answer.json()["problem"] == "cluster-metadata/: AccessDenied"
    assert answer.json()["remedy"] == "grant s3:ListBucket"


def test_readiness_comes_back_with_the_store(make_app: MakeApp, store: MemoryStore) -> None:
    flaky = FlakyStore(store, every=1)
    with TestClient(make_app(flaky)) as client:
        assert client.get("/readyz").status_code == 503
        flaky.every = 0
        assert client.get("/readyz").status_code == 200


def test_metrics_count_requests_by_route_and_not_by_path(make_app: MakeApp, store: MemoryStore) -> None:
    with TestClient(make_app(store)) as client:
        client.get("/healthz")
        client.get("/no/such/path")
        client.get("/s/raycluster/a/b/session_2027-01-01_00-00-00_000000/timezone")
        text = client.get("/metrics").text
    assert 'rayhist_server_requests_total{method="GET",route="/healthz",status="200"} 1.0' in text
    assert 'route="(none)",status="404"' in text
    assert "session_2027" not in text
    assert "rayhist_server_cache_files 0.0" in text


def test_two_servers_in_one_process_count_for_themselves(make_app: MakeApp, store: MemoryStore) -> None:
    with TestClient(make_app(store)) as one, TestClient(make_app(store)) as other:
        one.get("/healthz")
        assert 'route="/healthz"' not in other.get("/metrics").text
