"""A cluster that is told to stop is swept once more: what no interval has shipped yet is not lost."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rayhist_testkit.cluster import ClusterSettings, RayCluster
from rayhist_testkit.cluster.server import HistoryServer
from rayhist_testkit.demo.shipped import newest_session

pytestmark = [pytest.mark.services, pytest.mark.timeout(600)]

_NEVER_S = 3600.0
_DRIVER = """
import ray
ray.init(log_to_driver=False)

@ray.remote
def speak():
    print("last words", flush=True)

ray.get(speak.remote())
"""


def test_what_happened_right_before_the_stop_is_recorded(tmp_path: Path) -> None:
    settings = ClusterSettings(
        storage_url=(tmp_path / "archive").as_uri(),
        workers=1,
        log_interval_s=_NEVER_S,
        event_interval_s=_NEVER_S,
        ray_environment={"RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S": "5"},
    )
    with RayCluster(settings) as cluster:
        driver = cluster.run([sys.executable, "-c", _DRIVER], tmp_path / "driver.log")
        assert driver.wait() == 0, (tmp_path / "driver.log").read_text()
        cluster.stop_cleanly()

    session = newest_session(settings)
    with HistoryServer(settings.storage_url, tmp_path / "server") as server:
        server.until_ended(session)
        [listed] = server.root.json("api/v1/sessions")["sessions"]
        assert listed["state"] == "ended"
        dashboard = server.session(session)
        [task] = dashboard.rows("tasks")
        assert (task["name"], task["state"]) == ("speak", "FINISHED")
        said = dashboard.raw("api/v0/logs/file", task_id=task["task_id"], suffix="out")
        assert said == b"last words\n"
        [job] = dashboard.json("api/jobs/")
        assert (job["type"], job["status"]) == ("DRIVER", "SUCCEEDED")
