"""What Ray derives from a serialized runtime environment: `RuntimeEnv` of `ray.runtime_env`."""

from __future__ import annotations

from typing import Any

import msgspec

_DEFAULTS = {"setup_timeout_seconds": 600, "eager_install": True, "log_files": []}
"""`RuntimeEnvConfig`; what an environment says in its `config` comes over it."""


def info(serialized: str) -> dict[str, Any]:
    """`runtime_env_info` of a task: the text, its packages, and its settings.

    A task that was given no environment at all (a driver's own) has only the text.
    """
    said: dict[str, Any] = {"serialized_runtime_env": serialized}
    if not serialized:
        return said
    env = _fields(serialized)
    uris = _uris(env)
    if uris:
        said["uris"] = uris
    config = env.get("config")
    known = {name: config[name] for name in _DEFAULTS if name in config} if isinstance(config, dict) else {}
    said["runtime_env_config"] = _DEFAULTS | known
    return said


def _fields(serialized: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(serialized, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError):
        return {}


def _uris(env: dict[str, Any]) -> dict[str, Any]:
    working_dir, modules = env.get("working_dir"), env.get("py_modules")
    if not working_dir and not modules:
        return {}
    return {"working_dir_uri": working_dir or "", "py_modules_uris": modules or []}
