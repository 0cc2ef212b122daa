"""The archive: from `STORAGE_BACKEND` and each backend's own variables to `[storage]`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from rayhist_collector.kuberay.variables import Variables

_DEFAULT_BUCKET = "ray-historyserver"
_HELD = "RAYHIST_KUBERAY_SECRET"

Section = dict[str, Any]
Maker = Callable[[Variables, "Settings"], tuple[str, Section]]


class Settings:
    """What the backend's JSON file says; KubeRay looks there before it looks into the environment."""

    def __init__(self, variables: Variables, document: object) -> None:
        self._variables = variables
        self._document = document if isinstance(document, Mapping) else {}
        self.secrets: dict[str, str] = {}
        """Secrets out of the file, as variables of the environment."""

    def text(self, field: str, variable: str) -> str:
        value = self._document.get(field)
        if value is None or value == "":
            return self._variables.text(variable)
        if isinstance(value, str):
            return value.strip()
        self._variables.unusable(field, str(value), "a text")
        return ""

    def flag(self, field: str, variable: str) -> bool | None:
        value = self._document.get(field)
        return (
            self._variables.flag(variable) if value in {None, ""} else self._variables.as_flag(field, value)
        )

    def secret(self, field: str, variable: str) -> dict[str, str] | None:
        """Where the secret is; one that stands in the file goes into the environment of this process."""
        value = self._document.get(field)
        if isinstance(value, str) and value.strip():
            self.secrets[_HELD] = value.strip()
            return {"env": _HELD}
        found = self._variables.name_of(variable)
        return {"env": found} if found else None


def section(variables: Variables, document: object) -> tuple[Section, dict[str, str]]:
    """`[storage]`, and the secrets that it refers to but that the environment does not have yet."""
    backend = variables.text("STORAGE_BACKEND").lower()
    settings = Settings(variables, document)
    root = "/".join(filter(None, variables.text("STORAGE_ROOT_DIR").split("/")))
    maker = _MAKERS.get(backend)
    if maker is None:
        variables.warn(f"STORAGE_BACKEND={backend[:60]!r} is none of {', '.join(_MAKERS)}")
        scheme = backend if re.fullmatch(r"[a-z][a-z0-9-]{0,40}", backend) else "unknown"
        return {"url": f"{scheme}://{root}"}, {}
    place, options = maker(variables, settings)
    made: Section = {"url": f"{place}/{root}" if root else place}
    if options:
        made["options"] = options
    return made, settings.secrets


def _s3(variables: Variables, settings: Settings) -> tuple[str, Section]:
    options: Section = {}
    insecure = settings.flag("s3DisableSSL", "S3DISABLE_SSL")
    if endpoint := settings.text("s3Endpoint", "S3_ENDPOINT"):
        options["endpoint"] = _address(endpoint, "http" if insecure else "https")
        if options["endpoint"].startswith("http://"):
            options["allow_http"] = True
    if region := settings.text("s3Region", "S3_REGION"):
        options["region"] = region
    path_style = settings.flag("s3ForcePathStyle", "S3FORCE_PATH_STYLE")
    if path_style is not None:
        options["path_style"] = path_style
    names = {
        field: variables.name_of(variable)
        for field, variable in (
            ("access_key_id", "AWS_ACCESS_KEY_ID"),
            ("secret_access_key", "AWS_SECRET_ACCESS_KEY"),
            ("session_token", "AWS_SESSION_TOKEN"),
        )
    }
    if names["access_key_id"] and names["secret_access_key"]:
        options |= {field: {"env": name} for field, name in names.items() if name}
    return f"s3://{settings.text('s3Bucket', 'S3_BUCKET') or _DEFAULT_BUCKET}", options


def _gcs(variables: Variables, settings: Settings) -> tuple[str, Section]:
    bucket = settings.text("gcsBucket", "GCS_BUCKET")
    if not bucket:
        variables.warn("GCS_BUCKET is not set")
    return f"gcs://{bucket}", {}


def _azure(variables: Variables, settings: Settings) -> tuple[str, Section]:
    container = settings.text("azureContainer", "AZURE_STORAGE_CONTAINER") or _DEFAULT_BUCKET
    mode = settings.text("azureAuthMode", "AZURE_STORAGE_AUTH_MODE").lower()
    connection = settings.secret("azureConnectionString", "AZURE_STORAGE_CONNECTION_STRING")
    if mode not in {"", "connection_string", "workload_identity", "default"}:
        variables.unusable("AZURE_STORAGE_AUTH_MODE", mode, "connection_string, workload_identity or default")
        mode = ""
    options: Section = {}
    if account := settings.text("azureAccountURL", "AZURE_STORAGE_ACCOUNT_URL"):
        options["endpoint"] = _address(account, "https")
    if connection and mode in {"", "connection_string"}:
        options["connection_string"] = connection
    elif mode == "connection_string":
        variables.warn("AZURE_STORAGE_CONNECTION_STRING is not set")
    return f"azure://{container}", options


def _oss(variables: Variables, settings: Settings) -> tuple[str, Section]:
    bucket = settings.text("ossBucket", "OSS_BUCKET")
    if not bucket:
        variables.warn("OSS_BUCKET is not set")
    options: Section = {}
    if endpoint := settings.text("ossEndpoint", "OSS_ENDPOINT"):
        options["endpoint"] = _address(endpoint, "https")
    if region := settings.text("ossRegion", "OSS_REGION"):
        options["region"] = region
    return f"oss://{bucket}", options


def _address(endpoint: str, scheme: str) -> str:
    """KubeRay's endpoints often come without `https://`."""
    return endpoint if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*://", endpoint) else f"{scheme}://{endpoint}"


_MAKERS: dict[str, Maker] = {"s3": _s3, "gcs": _gcs, "azureblob": _azure, "aliyunoss": _oss}
