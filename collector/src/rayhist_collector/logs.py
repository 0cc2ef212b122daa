"""How the collector itself logs: structlog to standard error, a console on a terminal, JSON otherwise."""

from __future__ import annotations

import logging
import sys
from typing import Any, TextIO

import structlog

from rayhist.config import Log

_LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}


def logger(config: Log, stream: TextIO | None = None) -> Any:
    """A logger of its own; structlog's global configuration is left alone."""
    stream = stream or sys.stderr
    console = config.format == "console" or (config.format == "auto" and stream.isatty())
    rendered: list[Any] = (
        [
            structlog.processors.TimeStamper(fmt="%H:%M:%S"),
            structlog.dev.ConsoleRenderer(colors=stream.isatty()),
        ]
        if console
        else [
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ]
    )
    return structlog.wrap_logger(
        structlog.PrintLogger(stream),
        processors=[structlog.processors.add_log_level, *rendered],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[config.level]),
        cache_logger_on_first_use=True,
    )


class Forward(logging.Handler):
    """What libraries say through the standard library's logging, warnings and worse."""

    def __init__(self, log: Any) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        self._log.warning(record.getMessage(), logger=record.name)
