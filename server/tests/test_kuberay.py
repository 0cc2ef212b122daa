"""An archive that KubeRay's collector wrote opens as it is, and says what it lacks."""

from __future__ import annotations

import asyncio
import html
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from litestar.testing import TestClient

from rayhist.ids import Cluster, ClusterKind, Session
from rayhist.memory import MemoryStore
from rayhist_testkit import kuberay, recordings
from rayhist_testkit.kuberay import BucketStore, EventForm

from .conftest import application

OWNED = Cluster(ClusterKind.RAYJOB, "team-b", "trainer", "nightly")
CLUSTERS = {EventForm.LINES: OWNED, EventForm.GZIP: recordings.CLUSTER, EventForm.ARRAY: recordings.CLUSTER}


class Opened(msgspec.Struct, frozen=True):
    """The archive behind a server."""

    client: Any
    session: Session
    ids: dict[str, str]

    def get(self, path: str) -> Any:
        answer = self.client.get(f"/s/{self.session.path}{path}")
        assert answer.status_code == 200, (path, answer.text)
        return answer


@pytest.fixture(scope="module", params=EventForm, ids=lambda form: form.name)
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    store = BucketStore()
    folder, form = recordings.RAY_2_60, request.param
    session = asyncio.run(
        kuberay.lay_out(store, folder, cluster=CLUSTERS[form], form=form, logs=form is EventForm.LINES)
    )
    with TestClient(application(tmp_path_factory.mktemp("server"), store)) as client:
        yield Opened(client, session, recordings.Recording(folder).ids)


@pytest.fixture
def with_logs(opened: Opened) -> Opened:
    if opened.session.cluster != OWNED:
        pytest.skip("this form of the archive is laid out without logs")
    return opened


def test_the_session_is_listed_with_its_owner(opened: Opened) -> None:
    [listed] = opened.client.get("/api/v1/sessions").json()["sessions"]
    cluster = opened.session.cluster
    assert (listed["kind"], listed["owner"], listed["cluster"]) == (cluster.kind, cluster.owner, cluster.name)
    assert listed["start_is_approximate"]
    assert opened.session.name in opened.client.get("/").text


def test_every_form_of_event_file_says_the_same(opened: Opened) -> None:
    lines = recordings.Recording(recordings.RAY_2_60).all_events
    report = opened.get("/api/v1/session").json()["report"]
    assert report["events"] == len(lines)
    assert (report["bad_events"], report["damaged"], report["unknown_objects"]) == (0, {}, [])


def test_jobs_actors_and_tasks_have_their_pages(opened: Opened) -> None:
    jobs = opened.get("/api/jobs/").json()
    assert len({job["job_id"] for job in jobs if job["job_id"]}) >= 10
    for job in jobs:
        assert opened.get(f"/api/jobs/{job['job_id'] or job['submission_id']}").json() == job
    actors = opened.get("/logical/actors").json()["data"]["actors"]
    restarted = opened.ids["actor.restarted"]
    assert actors[restarted]["actorClass"]
    assert opened.get(f"/logical/actors/{restarted}").json()["data"]["detail"]["actorId"] == restarted
    task = opened.ids["task.retried"]
    found = opened.get(
        f"/api/v0/tasks?detail=1&filter_keys=task_id&filter_predicates=%3D&filter_values={task}"
    )
    assert len(found.json()["data"]["result"]["result"]) > 1


@pytest.mark.parametrize("kind", ["func_name", "lineage"])
def test_tasks_are_summed_up(opened: Opened, kind: str) -> None:
    job = opened.get("/api/jobs/").json()[0]["job_id"]
    query = f"summary_by={kind}&filter_keys=job_id&filter_predicates=%3D&filter_values={job}"
    summary = opened.get(f"/api/v0/tasks/summarize?{query}").json()["data"]["result"]["result"]
    assert summary["node_id_to_summary"]["cluster"]["summary"]
    assert opened.get(f"/api/v0/tasks/timeline?job_id={job}").json()


def test_nodes_have_their_pages_without_hardware(opened: Opened) -> None:
    nodes = opened.get("/nodes?view=summary").json()["data"]["summary"]
    assert len(nodes) == 4
    assert opened.get("/nodes?view=hostNameList").json()["data"]["hostNameList"]
    for node in nodes:
        detail = opened.get(f"/nodes/{node['raylet']['nodeId']}").json()["data"]["detail"]
        assert detail["ip"] == node["ip"] != ""
        assert detail["raylet"]["state"] in {"ALIVE", "DEAD"}


def test_what_its_collector_polls_is_answered(opened: Opened) -> None:
    recording = recordings.Recording(recordings.RAY_2_60)
    assert opened.get("/timezone").json() == recording.answer("/timezone").value
    assert opened.get("/api/v0/cluster_metadata").json()["data"]["rayVersion"] == "2.60.0"
    assert opened.get("/api/version").json()["ray_version"] == "2.60.0"
    assert opened.get("/api/serve/applications/").json()["applications"]
    groups = opened.get("/api/v0/placement_groups?detail=1&limit=10000").json()["data"]["result"]
    assert groups["result"]
    datasets = [path for path in recording.ids if path.startswith("job.")]
    found = [opened.get(f"/api/data/datasets/{recording.ids[name]}").json()["datasets"] for name in datasets]
    assert any(found)


@pytest.mark.parametrize(
    "path",
    [
        "/usage_stats_enabled",
        "/cluster_id",
        "/api/cluster_status?format=1",
        "/api/grafana_health",
        "/api/prometheus_health",
        "/api/component_activities",
        "/api/v0/cluster_events",
        "/api/v0/nodes?detail=1",
        "/api/v0/actors?detail=1",
        "/api/v0/workers?detail=1",
        "/api/v0/jobs?detail=1",
        "/api/v0/objects",
        "/api/v0/runtime_envs",
    ],
)
def test_what_the_frontend_asks_for_besides_is_answered_too(opened: Opened, path: str) -> None:
    assert opened.get(path).json() is not None


def test_logs_and_the_events_page_come_from_its_whole_files(with_logs: Opened) -> None:
    assert with_logs.get("/events").json()["data"]["events"]
    for node, path, content in recordings.Recording(recordings.RAY_2_60).logs():
        if path == "raylet.out":
            listed = with_logs.get(f"/api/v0/logs?node_id={node}&glob=raylet.*").json()
            assert "raylet.out" in listed["data"]["result"]["raylet"]
            file = with_logs.get(f"/api/v0/logs/file?node_id={node}&filename=raylet.out&lines=-1")
            assert file.content == content


def test_the_completeness_report_names_what_it_lacks(opened: Opened) -> None:
    known = opened.get("/api/v1/session").json()["completeness"]
    assert known["verdict"].startswith("Incomplete: No ")
    gaps = "\n".join(known["gaps"])
    for lacking in ("No node left a manifest", "the cluster status", "hardware use of 4 of 4 nodes"):
        assert lacking in gaps
    assert not any(node["has_manifest"] for node in known["nodes"])
    without_logs = [node for node in known["nodes"] if "It has no log files." in node["gaps"]]
    assert len(without_logs) == (0 if opened.session.cluster == OWNED else 4)


def test_its_page_shows_all_of_that(opened: Opened) -> None:
    text = html.unescape(opened.get("/@about").text)
    assert "No node left a manifest" in text
    assert "Ray 2.60.0" in text
    assert "The cluster was lost" in text
    assert f"~{opened.session.name[8:18]} " in text
    assert text.count("./#/cluster/nodes/") == 4


def test_a_bucket_lists_an_object_for_each_folder() -> None:
    """So that the tests above are about such an archive."""

    async def listed() -> list[str]:
        store: MemoryStore = BucketStore()
        await store.put("a/b/c", b"1")
        return [info.key async for info in store.list_objects("a")]

    assert asyncio.run(listed()) == ["a/", "a/b/", "a/b/c"]
