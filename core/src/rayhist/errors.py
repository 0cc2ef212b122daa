"""Errors, grouped by what the caller can do about them."""

from __future__ import annotations


class RayhistError(Exception):
    """Base of every error this project raises on purpose.

    `remedy` is a sentence that tells the reader what to do next; it is shown under the message.
    """

    def __init__(self, message: str, *, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return self.message


class ConfigError(RayhistError):
    """The operator has to change the configuration."""


class PluginError(RayhistError):
    """A plugin has to be installed, upgraded or left out."""


class StorageError(RayhistError):
    """Base of what a store may raise.  A store raises nothing else."""


class NotFound(StorageError, KeyError):
    """There is no such object.  Normal; the caller decides what it means."""


class Exists(StorageError):
    """The object is there already: a put-if-absent lost the race."""


class Denied(StorageError):
    """The credentials do not allow it.  Retrying does not help; changing the credentials does."""


class Unavailable(StorageError):
    """The store does not answer, or answers that it is overloaded.  Retry with back-off.

    `retry_after_s` is what the store asked for, in seconds, if it said so.
    """

    def __init__(
        self, message: str, *, remedy: str | None = None, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.retry_after_s = retry_after_s


class DataError(RayhistError):
    """This object cannot be believed: skip it, count it, go on."""


class BadIdentifier(DataError, ValueError):
    """A name or id that may not become part of a key."""


class Refused(RayhistError):
    """The principal may not do this.  `authenticated` tells 403 (true) from 401 (false)."""

    def __init__(self, message: str, *, remedy: str | None = None, authenticated: bool = False) -> None:
        super().__init__(message, remedy=remedy)
        self.authenticated = authenticated
