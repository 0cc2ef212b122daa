"""The default command in a pod of KubeRay's: it records, and never ends by itself, whatever is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from rayhist import layout
from rayhist.layout import EventFile, Marker

pytestmark = pytest.mark.services
Until = Callable[..., None]


def _operated(process: Any, **more: str) -> dict[str, str]:
    environment = {
        "RAY_CLUSTER_NAME": "train-x7k2p",
        "RAY_CLUSTER_NAMESPACE": "team-a",
        "RAY_ROLE": "Head",
        "OWNER_KIND": "RayJob",
        "OWNER_NAME": "train",
        "POD_IP": "127.0.0.1",
        "EVENTS_PORT": "8084",
        "STORAGE_BACKEND": "s3",
        "RAY_TMP_ROOT": str(process.temp_dir),
        "RAY_COLLECTOR_EVENT_DATA_DIR": str(process.spool),
        "ENABLE_LOG_COLLECTOR": "true",
        "RAY_COLLECTOR_POLL_INTERVAL": "abc",
        # Not the operator's: a free port, and a store that this test can look into.
        "RAYHIST__COLLECTOR__SOURCE_OPTIONS": '{ "ray-events" = { port = 0 } }',
        "RAYHIST__COLLECTOR__SOURCES": '["ray-events", "log-files"]',
        "RAYHIST__COLLECTOR__EVENT_INTERVAL_S": "0.2",
        "RAYHIST__COLLECTOR__SPOOL": str(process.spool),
        "RAYHIST__LOG__FORMAT": "json",
    }
    return environment | more


def test_it_records_under_the_owner_s_name(
    make_process: Callable[..., Any], ray_folder: Any, make_event: Callable[..., Any], wait_until: Until
) -> None:
    ray_folder.session()
    process = make_process()
    process.start_operated(**_operated(process, RAYHIST__STORAGE=f'{{ url = "{process.archive.as_uri()}" }}'))
    assert process.post(json.dumps([make_event(1)]).encode()) == 200
    assert process.stop() == 0
    references = [layout.parse(key) for key in process.objects()]
    assert {type(one) for one in references} >= {Marker, EventFile}
    paths = {one.session.cluster.path for one in references if isinstance(one, Marker | EventFile)}
    assert paths == {"rayjob/team-a/train/train-x7k2p"}
    assert "RAY_COLLECTOR_POLL_INTERVAL='abc'" in process.log()


@pytest.mark.parametrize("backend", ["oci", "S3"])
def test_an_archive_that_cannot_be_opened_is_said_plainly_and_events_wait_on_disk(
    make_process: Callable[..., Any],
    ray_folder: Any,
    make_event: Callable[..., Any],
    wait_until: Until,
    backend: str,
) -> None:
    """The container stays up and healthy, and Ray gets its 200: a sidecar must not make the pod unready."""
    said = {"oci": "no storage plugin is called 'oci'", "S3": "no credentials for S3"}[backend]
    ray_folder.session()
    process = make_process()
    # The metadata service is not asked in a test.
    no_metadata = {"RAYHIST__STORAGE__OPTIONS__METADATA_SERVICE": "false"} if backend == "S3" else {}
    process.start_operated(**_operated(process, STORAGE_BACKEND=backend, **no_metadata))
    assert process.post(json.dumps([make_event(1)]).encode()) == 200
    wait_until(lambda: said in process.log(), "what is wrong is said", process.log)
    assert process.get("/healthz") == "ok\n"
    wait_until(
        lambda: 'upload_errors_total{kind="Denied"}' in process.get("/metrics"), "it is counted", process.log
    )
    assert process.stop() == 0
    assert list(process.spool.rglob("*.jsonl.gz"))
    assert "Traceback" not in process.log()


def test_a_spool_that_cannot_be_used_is_tried_again_and_sigterm_still_ends_it(
    make_process: Callable[..., Any], wait_until: Until, tmp_path: Any
) -> None:
    process = make_process()
    process.spool.write_text("a file where a folder should be")
    process.start_operated(**_operated(process))
    wait_until(lambda: "trying again in a minute" in process.log(), "it says that it waits", process.log)
    assert process.stop() == 0
