"""How the program logs: one event a line to standard error, for people or as JSON."""

from __future__ import annotations

import logging
import sys

import structlog

from rayhist.config import Log


def configure(settings: Log) -> None:
    """Set up structlog, and send the libraries' own messages the same way."""
    level = logging.getLevelNamesMapping()[settings.level.upper()]
    shared: list[structlog.typing.Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    last = _last(settings)
    structlog.configure(
        processors=[*shared, *last],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(max(level, logging.WARNING))


def _last(settings: Log) -> list[structlog.typing.Processor]:
    """The renderer.  Neither shows local variables: they may hold what somebody logged in with."""
    if settings.format == "console" or (settings.format == "auto" and sys.stderr.isatty()):
        plain = structlog.dev.plain_traceback
        return [structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=plain)]
    transformer = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
    return [structlog.processors.ExceptionRenderer(transformer), structlog.processors.JSONRenderer()]
