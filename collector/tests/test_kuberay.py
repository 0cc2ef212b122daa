"""KubeRay's variables become a configuration, whatever is in them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayhist import config
from rayhist.config import Config
from rayhist.plugins import Plugins
from rayhist_collector.kuberay import is_operated, translate
from rayhist_collector.kuberay.variables import RENAMED, seconds
from rayhist_collector.starting import settle

from .conftest import clean_environment

# As KubeRay 1.7 makes it for the head of a RayJob's cluster, with the options of its own S3 sample.
OPERATED = {
    "POD_IP": "10.1.2.3",
    "RAY_CLUSTER_NAME": "train-x7k2p",
    "RAY_CLUSTER_NAMESPACE": "team-a",
    "RAY_ROLE": "Head",
    "EVENTS_PORT": "8084",
    "FQ_RAY_IP": "train-head-svc.team-a.svc.cluster.local",
    "OWNER_KIND": "RayJob",
    "OWNER_NAME": "train",
    "RAY_DASHBOARD_ADDRESS": "http://localhost:8265",
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": "t",
    "STORAGE_BACKEND": "s3",
    "STORAGE_ROOT_DIR": "/ray/history/",
    "S3_BUCKET": "bucket",
    "S3_ENDPOINT": "minio-service.minio-dev:9000",
    "S3_REGION": "test",
    "S3FORCE_PATH_STYLE": "true",
    "S3DISABLE_SSL": "true",
    "AWS_ACCESS_KEY_ID": "minioadmin",
    "AWS_SECRET_ACCESS_KEY": "minioadmin",
    "AWS_SESSION_TOKEN": "",
    "RAY_COLLECTOR_POLL_INTERVAL": "1m",
    "RAY_COLLECTOR_EVENT_ROTATION_INTERVAL": "1m30s",
    "RAY_COLLECTOR_ROTATED_LOG_SCAN_INTERVAL": "500ms",
    "RAY_COLLECTOR_ADDITIONAL_ENDPOINTS": "/api/train/v2/runs/v1, /api/v0/jobs?detail=1",
}


def loaded(environment: dict[str, str], file: object = None) -> tuple[Config, str]:
    made = translate(environment, lambda _: file)
    return config.load(None, {}, made.document), "\n".join(made.warnings)


def test_the_operator_s_environment_is_understood_without_a_word() -> None:
    made, warnings = loaded(OPERATED)
    assert warnings == ""
    assert made.cluster.cluster().path == "rayjob/team-a/train/train-x7k2p"
    assert made.storage.url == "s3://bucket/ray/history"
    assert made.storage.options == {
        "endpoint": "http://minio-service.minio-dev:9000",
        "allow_http": True,
        "region": "test",
        "path_style": True,
        "access_key_id": {"env": "AWS_ACCESS_KEY_ID"},
        "secret_access_key": {"env": "AWS_SECRET_ACCESS_KEY"},
    }
    collector = made.collector
    assert (collector.role, collector.node_ip, collector.event_interval_s) == ("head", "10.1.2.3", 90.0)
    assert collector.head_address == "http://train-head-svc.team-a.svc.cluster.local:8265"
    assert collector.source_options == {
        "dashboard": {
            "address": "http://localhost:8265",
            "interval_s": 60.0,
            "endpoints": ["/api/train/v2/runs/v1", "/api/v0/jobs?detail=1"],
        },
        "ray-events": {"port": 8084},
        "log-files": {"interval_s": 0.5},
    }


def test_the_options_are_those_of_the_installed_plugins() -> None:
    plugins = Plugins.discover()
    from rayhist.commands.config import check

    for backend in (
        OPERATED,
        OPERATED | {"STORAGE_BACKEND": "aliyunoss", "OSS_BUCKET": "b", "OSS_REGION": "r"},
    ):
        start = settle(None, plugins, dict(backend))
        assert start.operated
        assert not [warning for warning in start.warnings if "spool_max_bytes" not in warning]
        check(start.config, plugins)


@pytest.mark.parametrize(
    ("backend", "url", "options"),
    [
        ({"STORAGE_BACKEND": "S3"}, "s3://ray-historyserver", {}),
        ({"STORAGE_BACKEND": "gcs", "GCS_BUCKET": "g"}, "gcs://g", {}),
        (
            {"STORAGE_BACKEND": "azureblob", "AZURE_STORAGE_CONNECTION_STRING": "AccountKey=k"},
            "azure://ray-historyserver",
            {"connection_string": {"env": "AZURE_STORAGE_CONNECTION_STRING"}},
        ),
        (
            {
                "STORAGE_BACKEND": "AzureBlob",
                "AZURE_STORAGE_CONTAINER": "c",
                "AZURE_STORAGE_ACCOUNT_URL": "https://a.blob.core.windows.net",
                "AZURE_STORAGE_AUTH_MODE": "workload_identity",
                "AZURE_STORAGE_CONNECTION_STRING": "left over",
            },
            "azure://c",
            {"endpoint": "https://a.blob.core.windows.net"},
        ),
        (
            {
                "STORAGE_BACKEND": "aliyunoss",
                "OSS_BUCKET": "o",
                "OSS_ENDPOINT": "oss-cn-hangzhou-internal.aliyuncs.com",
                "OSS_REGION": "cn-hangzhou",
            },
            "oss://o",
            {"endpoint": "https://oss-cn-hangzhou-internal.aliyuncs.com", "region": "cn-hangzhou"},
        ),
    ],
)
def test_each_backend(backend: dict[str, str], url: str, options: dict[str, Any]) -> None:
    made, warnings = loaded(backend)
    assert (made.storage.url, made.storage.options, warnings) == (url, options, "")


def test_old_names_are_taken_with_a_warning() -> None:
    old = {
        "RUNTIME_CLASS_NAME": "s3",
        "RAY_ROOT_DIR": "log",
        "AWS_S3ID": "id",
        "AWS_S3SECRET": "secret-value",
        "RAY_CLUSTER_NAME": "c",
    }
    assert is_operated(old)
    made, warnings = loaded(old)
    assert made.storage.url == "s3://ray-historyserver/log"
    assert made.storage.options == {
        "access_key_id": {"env": "AWS_S3ID"},
        "secret_access_key": {"env": "AWS_S3SECRET"},
    }
    for name in ("RUNTIME_CLASS_NAME", "RAY_ROOT_DIR", "AWS_S3ID", "AWS_S3SECRET"):
        assert f"{name} is called " in warnings
    assert "secret-value" not in warnings
    both, warnings = loaded(old | {"STORAGE_ROOT_DIR": "new", "STORAGE_BACKEND": "s3"})
    assert both.storage.url == "s3://ray-historyserver/new"


@pytest.mark.parametrize("value", ["abc", "30", "-5s", "0", "1h1x", "5 s", "٣s", "1e3s", "s"])
def test_a_bad_duration_costs_a_warning_and_gives_the_default(value: str) -> None:
    """`RAY_COLLECTOR_POLL_INTERVAL=abc` once ended the whole collector."""
    made, warnings = loaded({"STORAGE_BACKEND": "s3", "RAY_COLLECTOR_POLL_INTERVAL": value})
    assert "dashboard" not in made.collector.source_options
    assert f"RAY_COLLECTOR_POLL_INTERVAL={value!r} is not a duration" in warnings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1h30m", 5400.0),
        ("1.5s", 1.5),
        (".5m", 30.0),
        ("100ms", 0.1),
        ("2h0m0.5s", 7200.5),
        ("7us", 7e-6),
        ("+1s", 1),
    ],
)
def test_durations_are_read_as_go_does(text: str, expected: float) -> None:
    assert seconds(text) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("EVENTS_PORT", "http"),
        ("EVENTS_PORT", "70000"),
        ("RAY_ROLE", "driver"),
        ("RAY_CLUSTER_NAME", "Not_A_Name"),
        ("RAY_CLUSTER_NAMESPACE", "../.."),
        ("OWNER_KIND", "RayCronJob"),
        ("S3FORCE_PATH_STYLE", "maybe"),
        ("RAY_COLLECTOR_EVENT_MAX_DISK_MB", "lots"),
        ("RAY_COLLECTOR_ADDITIONAL_ENDPOINTS", "api/x"),
        ("RAY_COLLECTOR_SOMETHING_NEW", "1"),
        ("LOG_BATCHING", "1000"),
        ("PUSH_INTERVAL", "1m"),
        ("RAY_AUTH_MODE", "magic"),
        ("STORAGE_BACKEND", "oci"),
    ],
)
def test_what_is_wrong_unknown_or_idle_is_named(name: str, value: str) -> None:
    _, warnings = loaded({"STORAGE_BACKEND": "s3", name: value})
    assert name in warnings


def test_a_backend_file_may_hold_booleans_and_secrets(tmp_path: Path) -> None:
    """`"s3ForcePathStyle": true`, without quotes, once ended the whole collector."""
    file = tmp_path / "backend.json"
    file.write_text(
        json.dumps({"s3Bucket": "b", "s3ForcePathStyle": False, "s3DisableSSL": "true", "s3Endpoint": "h:9"})
    )
    environment = {"STORAGE_BACKEND": "s3", "STORAGE_BACKEND_CONFIG_PATH": str(file), "S3_REGION": "r"}
    start = settle(None, Plugins.discover(), environment)
    assert start.config.storage.url == "s3://b"
    assert start.config.storage.options == {
        "endpoint": "http://h:9", "allow_http": True, "path_style": False, "region": "r",
    }  # fmt: skip
    made = translate(
        {"STORAGE_BACKEND": "azureblob", "STORAGE_BACKEND_CONFIG_PATH": "f"},
        lambda _: {"azureConnectionString": "AccountKey=x"},
    )
    [(name, value)] = made.secrets.items()
    assert made.document["storage"]["options"] == {"connection_string": {"env": name}}
    assert value == "AccountKey=x"
    for broken in ("{", "[]", "\x00", '{"s3Bucket": 1}'):
        file.write_text(broken)
        assert settle(None, Plugins.discover(), dict(environment)).warnings


def test_one_half_can_be_left_out_and_the_session_is_listed_all_the_same() -> None:
    made, _ = loaded({"STORAGE_BACKEND": "s3", "ENABLE_LOG_COLLECTOR": "false"})
    assert made.collector.sources == ("ray-events", "dashboard")
    made, _ = loaded({"STORAGE_BACKEND": "s3", "ENABLE_EVENT_COLLECTOR": "0"})
    assert made.collector.sources == ("log-files", "dashboard")
    made, warnings = loaded(
        {"STORAGE_BACKEND": "s3", "ENABLE_EVENT_COLLECTOR": "false", "ENABLE_LOG_COLLECTOR": "false"}
    )
    assert made.collector.sources == Config().collector.sources
    assert "ENABLE_EVENT_COLLECTOR" in warnings


def test_a_file_and_our_own_variables_come_before_the_operator_s(tmp_path: Path) -> None:
    file = tmp_path / "rayhist.toml"
    file.write_text('[storage]\nurl = "memory://x"\n[collector]\nevent_interval_s = 5\n')
    environment = OPERATED | {"RAYHIST_CONFIG": str(file), "RAYHIST__COLLECTOR__ROLE": "worker"}
    start = settle(None, Plugins.discover(), environment)
    assert (start.config.storage.url, start.config.storage.options) == ("memory://x", {})
    assert (start.config.collector.event_interval_s, start.config.collector.role) == (5.0, "worker")
    assert start.config.cluster.name == "train-x7k2p"
    file.write_text("broken")
    start = settle(None, Plugins.discover(), environment)
    assert start.config.storage.url == "s3://bucket/ray/history"
    assert str(file) in start.warnings[-1]


def test_without_a_backend_nothing_is_translated() -> None:
    """Ray's own container has `RAY_CLUSTER_NAME`, too."""
    assert settle(None, Plugins.discover(), {"RAY_CLUSTER_NAME": "c", "RAY_ROLE": "Head"}).config == Config()


NAMES = sorted(
    {*OPERATED, *RENAMED, *(old for olds in RENAMED.values() for old in olds)}
    | {
        "ENABLE_LOG_COLLECTOR",
        "ENABLE_EVENT_COLLECTOR",
        "RAY_TMP_ROOT",
        "RAY_COLLECTOR_EVENT_DATA_DIR",
        "LOG_BATCHING",
        "RAY_COLLECTOR_EVENT_MAX_DISK_MB",
        "RAY_DASHBOARD_PORT",
        "GCS_BUCKET",
        "AZURE_STORAGE_AUTH_MODE",
        "OSS_ENDPOINT",
        "AZURE_STORAGE_ACCOUNT_URL",
        "AZURE_STORAGE_CONNECTION_STRING",
        "RAY_ENABLE_K8S_TOKEN_AUTH",
        "RAY_COLLECTOR_X",
    }
)
VALUES = st.text(max_size=20) | st.sampled_from(
    [
        "",
        " ",
        "true",
        "s3",
        "gcs",
        "azureblob",
        "aliyunoss",
        "oci",
        "1m",
        "-1s",
        "8084",
        "Head",
        "/a/b/",
        "::1",
        "../x",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2),
    max_leaves=3,
)
FIELDS = [
    "s3Bucket",
    "s3Endpoint",
    "s3ForcePathStyle",
    "s3DisableSSL",
    "azureConnectionString",
    "gcsBucket",
    "ossRegion",
]


@given(
    st.dictionaries(st.sampled_from(NAMES), VALUES),
    st.none() | JSON | st.dictionaries(st.sampled_from(FIELDS), JSON),
)
def test_any_environment_gives_a_configuration_that_loads(environment: dict[str, str], file: object) -> None:
    """And naming it twice gives the same; a secret is in no warning."""
    made, warnings = loaded(environment, file)
    made.cluster.cluster()
    assert loaded(dict(reversed(environment.items())), file) == (made, warnings)
    secret = environment.get("AZURE_STORAGE_CONNECTION_STRING", "")
    if len(secret) > 5 and list(environment.values()).count(secret) == 1:
        assert secret not in warnings


def test_the_result_can_be_looked_at() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "rayhist.cli", "collect", "--print-config"],
        capture_output=True,
        text=True,
        check=True,
        env=clean_environment() | OPERATED | {"PUSH_INTERVAL": "1m"},
    )
    assert json.loads(run.stdout)["cluster"]["owner"] == "train"
    assert "PUSH_INTERVAL" in run.stderr
    assert "minioadmin" not in run.stdout + run.stderr
