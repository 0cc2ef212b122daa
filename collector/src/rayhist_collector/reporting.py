"""Logging an error that was expected to happen one day, so without a stack."""

from __future__ import annotations

from typing import Any

from rayhist.errors import RayhistError


def say(log: Any, what: str, error: Exception, **more: object) -> None:
    """Log what went wrong, with the error's text and its remedy."""
    remedy = error.remedy if isinstance(error, RayhistError) else None
    log.error(what, error=str(error), **({"remedy": remedy} if remedy else {}), **more)
