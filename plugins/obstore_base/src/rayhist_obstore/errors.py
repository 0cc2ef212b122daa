"""What obstore raises → the core's errors.

obstore 0.12 gives status and code in the text only: in a listing, a 403, a missing bucket, a 503 and a
refused connection are all the same exception.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import NamedTuple

from obstore import exceptions

from rayhist.errors import ConfigError, Denied, Exists, NotFound, RayhistError, Unavailable
from rayhist_obstore.dialect import ON_THE_WAY, Dialect

NO_RANGE = 416
_PASSING = frozenset({408, 409, 429})
_STATUS = re.compile(r"status code: (\d{3})")
_CODE = re.compile(r"<Code>(\w+)</Code>|\(code: (\w+)\)")
_MESSAGE = re.compile(r"<Message>([^<]*)</Message>")
_NOISE = re.compile(r"^(Generic \w+ error: |Error performing list request: )+")
_MAX_REASON = 300
_REFUSED = (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError)


class Asked(NamedTuple):
    """What was asked for: a name for messages, and what the answer 404 or 409 means for it."""

    what: str
    lists: bool = False
    """Of a listing: 404 can mean the bucket only."""
    creates: bool = False
    """A put-if-absent: 409 and 412 mean that the key is taken."""
    may_be_denied: bool = False
    """Asked on the chance: a refusal says nothing of the credentials' age."""


@contextlib.contextmanager
def translated(asked: Asked, dialect: Dialect) -> Iterator[None]:
    """Raise the core's error in place of obstore's."""
    try:
        yield
    except (exceptions.BaseError, OSError, ValueError) as error:
        raise explained(error, asked, dialect) from error


def status_of(error: BaseException | None) -> int:
    """The HTTP status in the error's text, or 0."""
    match = _STATUS.search(str(error))
    return int(match[1]) if match else 0


def passes(error: BaseException | None, asked: Asked, dialect: Dialect) -> bool:
    """Whether the same request may succeed a moment later.

    Without a status nobody knows whether the server did it, and a put-if-absent would find itself.
    """
    if not isinstance(error, exceptions.BaseError):
        return False
    status = status_of(error)
    if status:
        return status >= 500 or status in _PASSING or _code_of(error) in dialect.passing
    return isinstance(error, exceptions.GenericError) and not asked.creates


def explained(error: Exception, asked: Asked, dialect: Dialect) -> RayhistError:
    """The core's error for one of obstore's."""
    text, status, code = str(error), status_of(error), _code_of(error)
    message = f"{asked.what}: {_reason(text, status, code, dialect)}"
    if code in dialect.passing:
        return Unavailable(message)
    if code in dialect.configuration:
        return ConfigError(message, remedy=dialect.configuration[code])
    if "redirect without LOCATION" in text:
        return ConfigError(message, remedy="check region and endpoint in [storage.options]")
    for cause in dialect.identity:
        if cause.sign in text:
            return Denied(message, remedy=cause.remedy)
    if code in dialect.denied or status in {401, 403} or isinstance(error, _REFUSED):
        return Denied(message, remedy=dialect.denied.get(code, dialect.refused))
    return _answered(error, status, asked, dialect) or Unavailable(
        message, remedy=next((c.remedy for c in (*dialect.causes, *ON_THE_WAY) if c.sign in text), None)
    )


def _answered(error: Exception, status: int, asked: Asked, dialect: Dialect) -> RayhistError | None:
    """What an answer about the object means, if it is one."""
    if isinstance(error, FileNotFoundError) or status == 404:
        if asked.lists:
            return ConfigError(f"{asked.what}: no such bucket", remedy=dialect.missing_bucket)
        return NotFound(f"{asked.what}: no such object")
    if asked.creates and isinstance(error, exceptions.AlreadyExistsError | exceptions.PreconditionError):
        return Exists(f"{asked.what}: exists already")
    return None


def _code_of(error: BaseException) -> str:
    match = _CODE.search(str(error))
    return match[1] or match[2] if match else ""


def _reason(text: str, status: int, code: str, dialect: Dialect) -> str:
    said = _MESSAGE.search(text)
    if code or said:
        return f"{code or status}: {said[1].strip()}" if said else code
    plain = _NOISE.sub("", " ".join(text.partition("Debug source")[0].split()))[:_MAX_REASON]
    causes = (*dialect.identity, *dialect.causes, *ON_THE_WAY)
    meaning = next((cause.meaning for cause in causes if cause.meaning and cause.sign in text), "")
    return f"{plain} ({meaning})" if meaning else plain
