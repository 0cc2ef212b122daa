"""From the operator's environment to a configuration document.  A pure function: nothing here fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from rayhist.errors import BadIdentifier
from rayhist.ids import dns_name
from rayhist_collector.kuberay import storage
from rayhist_collector.kuberay.variables import RENAMED, Variables

KUBERNETES_TOKEN = "/var/run/secrets/ray.io/serviceaccount/token"  # noqa: S105 - a path
"""Where the operator mounts the token of `RAY_ENABLE_K8S_TOKEN_AUTH`."""
_DASHBOARD_PORT = 8265
_MIB = 1 << 20
_SPOOL = "rayhist"
_ALL_SOURCES = ("ray-events", "log-files", "dashboard")


class Translation(NamedTuple):
    """`document` is a configuration as a file would hold it; `secrets` are variables that it refers to.

    `warnings` say what was taken under an old name, what was not understood, and what has no effect.
    """

    document: dict[str, Any]
    warnings: tuple[str, ...]
    secrets: dict[str, str]


def is_operated(environment: Mapping[str, str]) -> bool:
    """Whether the environment is one that KubeRay's operator, or a manifest written for it, has made."""
    names = ("STORAGE_BACKEND", *RENAMED["STORAGE_BACKEND"])
    return any(environment.get(name, "").strip() for name in names)


def translate(
    environment: Mapping[str, str], read_json: Callable[[str], object] = lambda _: None
) -> Translation:
    """Translate all of it.

    `read_json` gives the content of the file that `STORAGE_BACKEND_CONFIG_PATH` names; what it raises becomes
    a warning.
    """
    variables = Variables(environment)
    archive, secrets = storage.section(variables, _backend_file(variables, read_json))
    document = {
        "storage": archive,
        "cluster": _cluster(variables),
        "collector": _collector(variables) | {"source_options": _source_options(variables)},
    }
    variables.without_effect("LOG_BATCHING", "log bytes are sent every few seconds, in one object")
    variables.without_effect("PUSH_INTERVAL", "KubeRay has never read it; see interval_s of log-files")
    variables.without_effect("RAY_COLLECTOR_EVENT_MAX_FILE_SIZE_MB", "files of events are closed at 32 MiB")
    if variables.flag("RAY_COLLECTOR_EVENT_COMPRESSION_ENABLED") is False:
        variables.without_effect("RAY_COLLECTOR_EVENT_COMPRESSION_ENABLED", "events are always compressed")
    variables.unread()
    return Translation(document, tuple(variables.warnings), secrets)


def _backend_file(variables: Variables, read_json: Callable[[str], object]) -> object:
    path = variables.text("STORAGE_BACKEND_CONFIG_PATH")
    if not path:
        return None
    try:
        found = read_json(path)
    except (OSError, ValueError, RecursionError) as error:
        variables.warn(f"STORAGE_BACKEND_CONFIG_PATH: {path} cannot be read: {error}")
        return None
    if not isinstance(found, dict):
        variables.warn(f"STORAGE_BACKEND_CONFIG_PATH: {path} holds no JSON object")
        return None
    return found


def _cluster(variables: Variables) -> dict[str, Any]:
    section: dict[str, Any] = {}
    for field, variable in (("namespace", "RAY_CLUSTER_NAMESPACE"), ("name", "RAY_CLUSTER_NAME")):
        if (value := variables.text(variable)) and _fits(variables, variable, value):
            section[field] = value
    kind, owner = variables.text("OWNER_KIND").lower(), variables.text("OWNER_NAME")
    if kind in {"", "raycluster"} and not owner:
        return section
    if kind not in {"rayjob", "rayservice"} or not owner:
        variables.warn(f"OWNER_KIND={kind[:60]!r} and OWNER_NAME={owner[:60]!r} name no RayJob or RayService")
        return section
    if _fits(variables, "OWNER_NAME", owner):
        section |= {"kind": kind, "owner": owner}
    return section


def _fits(variables: Variables, variable: str, value: str) -> bool:
    """Whether the value can be a part of the archive's keys."""
    try:
        dns_name(variable, value)
    except BadIdentifier:
        variables.unusable(variable, value, "a Kubernetes name")
        return False
    return True


def _collector(variables: Variables) -> dict[str, Any]:
    section: dict[str, Any] = {}
    if role := variables.text("RAY_ROLE").lower():
        if role in {"head", "worker"}:
            section["role"] = role
        else:
            variables.unusable("RAY_ROLE", role, "Head or Worker")
    if temp_dir := variables.text("RAY_TMP_ROOT"):
        section["temp_dir"] = temp_dir
    if folder := variables.text("RAY_COLLECTOR_EVENT_DATA_DIR"):
        section["spool"] = f"{folder.rstrip('/')}/{_SPOOL}"
    if ip := variables.text("POD_IP"):
        section["node_ip"] = ip
    if head := variables.text("FQ_RAY_IP"):
        port = variables.number("RAY_DASHBOARD_PORT", 1, 65535) or _DASHBOARD_PORT
        section["head_address"] = f"http://{f'[{head}]' if ':' in head else head}:{port}"
    if interval := variables.duration("RAY_COLLECTOR_EVENT_ROTATION_INTERVAL"):
        section["event_interval_s"] = interval
    if megabytes := variables.number("RAY_COLLECTOR_EVENT_MAX_DISK_MB", 1, 1 << 24):
        section["spool_max_bytes"] = megabytes * _MIB
    sources = _sources(variables)
    if sources != _ALL_SOURCES:
        section["sources"] = list(sources)
    return section


def _sources(variables: Variables) -> tuple[str, ...]:
    """Who wants no logs still wants the session listed, and what only the dashboard knows."""
    events = variables.flag("ENABLE_EVENT_COLLECTOR") is not False
    logs = variables.flag("ENABLE_LOG_COLLECTOR") is not False
    if not events and not logs:
        variables.warn(
            "ENABLE_EVENT_COLLECTOR and ENABLE_LOG_COLLECTOR are both false; both are taken for true"
        )
        return _ALL_SOURCES
    left_out = {"ray-events": not events, "log-files": not logs}
    return tuple(name for name in _ALL_SOURCES if not left_out.get(name))


def _source_options(variables: Variables) -> dict[str, dict[str, Any]]:
    dashboard: dict[str, Any] = {}
    if address := variables.text("RAY_DASHBOARD_ADDRESS"):
        dashboard["address"] = address if "://" in address else f"http://{address}"
    if interval := variables.duration("RAY_COLLECTOR_POLL_INTERVAL"):
        dashboard["interval_s"] = interval
    if endpoints := _endpoints(variables):
        dashboard["endpoints"] = endpoints
    if variables.flag("RAY_ENABLE_K8S_TOKEN_AUTH"):
        dashboard["token"] = {"file": KUBERNETES_TOKEN}
    options: dict[str, dict[str, Any]] = {"dashboard": dashboard} if dashboard else {}
    if port := variables.number("EVENTS_PORT", 1, 65535):
        options["ray-events"] = {"port": port}
    if interval := variables.duration("RAY_COLLECTOR_ROTATED_LOG_SCAN_INTERVAL"):
        options["log-files"] = {"interval_s": interval}
    mode = variables.text("RAY_AUTH_MODE").lower()
    if mode not in {"", "token", "disabled", "k8s"}:
        variables.unusable("RAY_AUTH_MODE", mode, "token or disabled")
    return options


def _endpoints(variables: Variables) -> list[str]:
    found = []
    for part in variables.text("RAY_COLLECTOR_ADDITIONAL_ENDPOINTS").split(","):
        endpoint = part.strip()
        if endpoint.startswith("/") and endpoint.isascii() and endpoint.isprintable() and " " not in endpoint:
            found.append(endpoint)
        elif endpoint:
            variables.unusable("RAY_COLLECTOR_ADDITIONAL_ENDPOINTS", endpoint, "a path that begins with /")
    return found
