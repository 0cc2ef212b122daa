"""One collector: what it is made of, from the configuration to the last word."""

from __future__ import annotations

import asyncio
import logging
import signal
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from rayhist.clock import Clock, SystemClock
from rayhist.config import Config
from rayhist.errors import ConfigError, RayhistError
from rayhist.plugins import Plugins, options_of
from rayhist.redaction import Redactor, rules
from rayhist.sink import Sink, SinkContext
from rayhist.storage import Store
from rayhist_collector import logs, ray_env
from rayhist_collector.chronicle import Chronicle
from rayhist_collector.collector import Collector
from rayhist_collector.heartbeat import Heartbeat, Parts
from rayhist_collector.identity import Identity
from rayhist_collector.intake import SpoolIntake
from rayhist_collector.ledger import Ledger
from rayhist_collector.metrics import Metrics
from rayhist_collector.opening import open_store
from rayhist_collector.reporting import say
from rayhist_collector.ship import Shipper
from rayhist_collector.sources.ray_events import Options as RayEventsOptions
from rayhist_collector.spool import Spool
from rayhist_collector.starting import Start, settle
from rayhist_collector.supervise import SourceRunner
from rayhist_collector.waiting import signal_or_time
from rayhist_collector.watch import Watch

_SPOOL_FOLDER = "rayhist-spool"
_PATIENCE_S = 60.0
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - compared, not bound


def main(path: str | None, plugins: Plugins, *, once: bool = False) -> int:
    """Collect until SIGTERM or SIGINT.

    Raises `ConfigError` or `PluginError` before anything is begun; beside KubeRay's operator it says what is
    wrong and tries again instead, since a sidecar that exits takes its pod's readiness with it.
    """
    start = settle(path, plugins)
    log = logs.logger(start.config.log)
    logging.getLogger().addHandler(logs.Forward(log))
    for warning in start.warnings:
        log.warning("a setting of KubeRay's", problem=warning)
    asyncio.run(_run(start, plugins, log, once=once))
    return 0


async def _run(start: Start, plugins: Plugins, log: Any, *, once: bool) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    while True:
        try:
            async with AsyncExitStack() as stack:
                collector = await build(start.config, plugins, log, stack, patient=start.operated)
                await (collector.once() if once else collector.run(stop))
            return
        except RayhistError as error:
            if once or not start.operated:
                raise
            say(log, "cannot collect; trying again in a minute", error)
        await signal_or_time(stop, SystemClock(), _PATIENCE_S)
        if stop.is_set():
            return


async def build(
    config: Config,
    plugins: Plugins,
    log: Any,
    stack: AsyncExitStack,
    clock: Clock | None = None,
    *,
    patient: bool = False,
) -> Collector:
    """Put a collector together; what has to be closed goes on the stack.

    Raises `ConfigError` or `PluginError`.
    """
    clock = clock or SystemClock()
    cluster = config.cluster.cluster()
    temp_dir = _absolute(config.collector.temp_dir)
    store = await stack.enter_async_context(open_store(config, plugins, patient=patient))
    sinks = _sinks(config, plugins, SinkContext(cluster, store, clock), stack)
    runners = [SourceRunner(plugins.source(name), config.collector) for name in config.collector.sources]
    identity = Identity(temp_dir, config.collector.node_id)
    redactor = Redactor(rules(config.redaction)) if config.redaction.enabled else None
    spool = _spool(config, temp_dir, stack)
    metrics = Metrics()
    shipper = Shipper(spool, sinks, clock, metrics, log)
    ledger = Ledger(spool, clock)
    intake = SpoolIntake(
        spool=spool,
        cluster=cluster,
        clock=clock,
        identity=identity,
        ledger=ledger,
        metrics=metrics,
        log=log,
        offer=shipper.offer,
        redactor=redactor,
    )
    stack.callback(intake.close)
    watch = Watch(temp_dir, config.collector, identity, clock, log)
    parts = Parts(
        config=config.collector,
        temp_dir=temp_dir,
        spool=spool,
        intake=intake,
        identity=identity,
        watch=watch,
        ledger=ledger,
        chronicle=Chronicle(spool, cluster, config.collector),
        shipper=shipper,
        clock=clock,
        log=log,
        redactor=redactor,
    )
    metrics.gauge("spool_files", "Files that are not in every sink yet", lambda: shipper.waiting)
    metrics.gauge("spool_bytes", "Bytes that are not in every sink yet", lambda: spool.usage()[1])
    _greet(config, store, spool, log)
    return Collector(parts, Heartbeat(parts), runners, cluster)


def _absolute(path: str) -> Path:
    return Path(path).expanduser().absolute()


def _spool(config: Config, temp_dir: Path, stack: AsyncExitStack) -> Spool:
    root = _absolute(config.collector.spool) if config.collector.spool else temp_dir / _SPOOL_FOLDER
    spool = Spool(root, fsync=config.collector.fsync == "always")
    stack.callback(spool.release)
    return spool


def _sinks(config: Config, plugins: Plugins, context: SinkContext, stack: AsyncExitStack) -> dict[str, Sink]:
    sinks = {}
    for name in config.collector.sinks:
        kind = plugins.sink(name)
        given = config.collector.sink_options.get(name, {})
        sinks[name] = kind.open(context, options_of(kind, given, f"$.collector.sink_options.{name}"))
        stack.push_async_callback(sinks[name].close)
    return sinks


def _greet(config: Config, store: Store, spool: Spool, log: Any) -> None:
    log.info(
        "collecting",
        cluster=config.cluster.cluster().path,
        archive=store.location,
        spool=str(spool.root),
        temp_dir=config.collector.temp_dir,
        role=config.collector.role,
    )


def ray_settings(path: str | None, plugins: Plugins) -> str:
    """What `--print-ray-env` prints.  Raises `ConfigError` if the events' port is chosen by chance."""
    collector = settle(path, plugins).config.collector
    kind = plugins.source("ray-events")
    given = collector.source_options.get("ray-events", {})
    options = options_of(kind, given, "$.collector.source_options.ray-events")
    assert isinstance(options, RayEventsOptions)
    if not options.port:
        raise ConfigError(
            "the port of ray-events is 0, so nobody knows it before it is opened",
            remedy="set port in [collector.source_options.ray-events]",
        )
    host = _EVERYWHERE.get(options.host, f"[{options.host}]" if ":" in options.host else options.host)
    return ray_env.script(f"http://{host}:{options.port}")
