"""Whether everything that the cluster showed has reached the archive, by what the archive holds."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec

from rayhist import codec, layout, manifest
from rayhist.errors import NotFound
from rayhist.ids import Cluster, IdKind, Session, hex_from_base64
from rayhist.plugins import Plugins, options_of
from rayhist.replay import inventory
from rayhist.replay.answers import Answers
from rayhist.replay.inventory import Inventory
from rayhist.source import Answer
from rayhist.storage import Store
from rayhist_testkit.cluster.settings import ClusterSettings
from rayhist_testkit.demo.ledger import Ledger

_GROUPS = "/api/v0/placement_groups?detail=1&limit=10000"
_ENDED = {"FINISHED", "FAILED"}

LogSizes = Mapping[str, Mapping[str, int]]
"""Bytes of each log file, by node address and path below `logs/`."""


def still_missing(settings: ClusterSettings, ledger: Ledger, sizes: LogSizes) -> list[str]:
    """What is not in the archive yet, a line each; empty when all of it is."""
    return asyncio.run(_still_missing(settings, ledger, sizes))


async def _still_missing(settings: ClusterSettings, ledger: Ledger, sizes: LogSizes) -> list[str]:
    async with open_store(settings) as store:
        sessions = await recorded_sessions(store, settings.cluster())
        if not sessions:
            return ["the session's marker"]
        found = await inventory.take(store, sessions[-1])
        return [
            *await _missing_logs(store, found, sizes),
            *await _missing_answers(store, found, ledger),
            *await _missing_attempts(store, found, ledger),
        ]


def open_store(settings: ClusterSettings) -> Store:
    """The archive of a cluster.  Raises `ConfigError` and `PluginError`."""
    kind = Plugins.discover().storage_for(settings.storage_url)
    options = options_of(kind, dict(settings.storage_options), "$.storage.options")
    return kind.open(settings.storage_url, options)


def newest_session(settings: ClusterSettings) -> Session:
    """The cluster's last session.  Raises `NotFound` if it has none in the archive."""

    async def newest() -> Session:
        async with open_store(settings) as store:
            found = await recorded_sessions(store, settings.cluster())
        if not found:
            raise NotFound(f"{settings.storage_url}: no session of {settings.cluster().path}")
        return found[-1]

    return asyncio.run(newest())


async def recorded_sessions(store: Store, cluster: Cluster) -> list[Session]:
    """The cluster's sessions, oldest first."""
    prefix = layout.cluster_metadata_prefix(cluster)
    return [Session(cluster, info.key[len(prefix) :]) async for info in store.list_objects(prefix)]


async def _missing_logs(store: Store, found: Inventory, sizes: LogSizes) -> list[str]:
    missing = []
    recorded: dict[str, manifest.NodeManifest] = {}
    for item in found.manifests:
        one = manifest.read_manifest(await store.get(item.info.key), item.info.key)
        recorded[one.ip] = one
    for address, files in sizes.items():
        stored = recorded[address].logs if address in recorded else {}
        for path, size in files.items():
            if path not in stored or stored[path].bytes < size:
                missing.append(f"log {path} of {address}")
    return missing


async def _missing_answers(store: Store, found: Inventory, ledger: Ledger) -> list[str]:
    """What only the dashboard's answers tell, and the last recorded ones do not yet."""
    answers = await _last_answers(store, found)
    rows = _inside(answers.body(_GROUPS), "data", "result", "result") or []
    groups = {row["placement_group_id"]: row["state"] for row in rows}
    missing = [f"group {one.name}" for one in ledger.groups.values() if groups.get(one.id) != one.state]
    applications = _inside(answers.body("/api/serve/applications"), "applications") or {}
    for name, status in ledger.applications.items():
        if _inside(applications.get(name), "status") != status:
            missing.append(f"application {name}")
    return missing


def _inside(document: Any, *fields: str) -> Any:
    for field in fields:
        document = (document or {}).get(field)
    return document


async def _last_answers(store: Store, found: Inventory) -> Answers:
    answers = Answers()
    for item in found.snapshots:
        for line in codec.decode(await store.get(item.info.key), codec.Damage()):
            with suppress(msgspec.ValidationError):  # a date instead of an answer
                answers.add(msgspec.json.decode(line, type=Answer))
    for item in found.endpoints:
        answers.add_published(getattr(item.reference, "endpoint", ""), await store.get(item.info.key), 0)
    return answers


async def _missing_attempts(store: Store, found: Inventory, ledger: Ledger) -> list[str]:
    ended: set[tuple[str, int]] = set()
    for item in found.events:
        if getattr(item.reference, "job", "") == ledger.driver_job:
            ended |= _ended_attempts(await store.get(item.info.key))
    expected = sum(count for state, count in ledger.task_counts.items() if state in _ENDED)
    return [f"{expected - len(ended)} ends of task attempts"] if len(ended) < expected else []


def _ended_attempts(data: bytes) -> set[tuple[str, int]]:
    ended = set()
    for line in codec.decode(data, codec.Damage()):
        lifecycle = msgspec.json.decode(line).get("taskLifecycleEvent")
        if lifecycle and any(each["state"] in _ENDED for each in lifecycle.get("stateTransitions", ())):
            ended.add((hex_from_base64(IdKind.TASK, lifecycle["taskId"]), int(lifecycle["taskAttempt"])))
    return ended
