"""What obstore raises → the core's errors.

obstore 0.12 gives status and code in the text only: in a listing, a 403, a missing bucket, a 503 and a
refused connection are all the same exception.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from obstore import exceptions

from rayhist.errors import ConfigError, Denied, Exists, NotFound, RayhistError, Unavailable

_STATUS = re.compile(r"status code: (\d{3})")
_CODE = re.compile(r"<Code>(\w+)</Code>|\(code: (\w+)\)")
_MESSAGE = re.compile(r"<Message>([^<]*)</Message>")
_MAX_REASON = 300

NO_RANGE = 416
_RIGHTS = "allow s3:GetObject, s3:ListBucket, and for a collector s3:PutObject and s3:DeleteObject"
_DENIED = {
    "AccessDenied": _RIGHTS,
    "AllAccessDisabled": _RIGHTS,
    "ExpiredToken": "renew session_token and its keys",
    "InvalidAccessKeyId": "check access_key_id: the server does not know it",
    "InvalidToken": "renew session_token and its keys",
    "RequestTimeTooSkewed": "set this machine's clock",
    "SignatureDoesNotMatch": "check secret_access_key: it does not fit access_key_id",
}
_CONFIGURATION = {
    "AuthorizationHeaderMalformed": "check region in [storage.options]",
    "InvalidBucketName": "check the bucket in [storage] url",
    "NoSuchBucket": "create the bucket, or check [storage] url and endpoint",
    "NotImplemented": "the server cannot do that; check which S3 features it has",
    "PermanentRedirect": "check region and endpoint in [storage.options]",
}

_NO_CREDENTIALS = "set access_key_id and secret_access_key, or give the machine a role"
_NOT_THERE = "check endpoint, and that the server runs"
_CAUSES = (
    ("169.254.169.254", "the machine has no metadata service to give credentials", _NO_CREDENTIALS),
    ("/latest/api/token", "the machine's metadata service gives no credentials", _NO_CREDENTIALS),
    ("/latest/meta-data", "the machine's metadata service gives no credentials", _NO_CREDENTIALS),
    ("InvalidCertificate", "its certificate is not trusted", "name the authority's file in ca_certificate"),
    ("ConnectionRefused", "connection refused", _NOT_THERE),
    ("dns error", "its name is not known", _NOT_THERE),
    ("kind: Timeout", "no answer in time", _NOT_THERE),
    ("empty path segment", "", "remove that object, which is not of this project"),
    ("error sending request", "", _NOT_THERE),
)
"""What the error's text holds, what that means, and the remedy."""
_NOISE = ("Generic S3 error: ", "Error performing list request: ")


@contextlib.contextmanager
def translated(what: str) -> Iterator[None]:
    """Raise the core's error in place of obstore's; `what` is the key, or what else was asked for."""
    try:
        yield
    except (exceptions.BaseError, OSError, ValueError) as error:
        raise explained(error, what) from error


def status_of(error: Exception) -> int:
    """The HTTP status in the error's text, or 0."""
    match = _STATUS.search(str(error))
    return int(match[1]) if match else 0


def explained(error: Exception, what: str) -> RayhistError:
    """The core's error for one of obstore's."""
    text, status, code = str(error), status_of(error), _code_of(error)
    message = f"{what}: {_reason(text, status, code)}"
    if code in _CONFIGURATION:
        return ConfigError(message, remedy=_CONFIGURATION[code])
    if "redirect without LOCATION" in text:
        return ConfigError(message, remedy=_CONFIGURATION["PermanentRedirect"])
    if code in _DENIED or status in {401, 403} or isinstance(error, _REFUSED):
        return Denied(message, remedy=_DENIED.get(code, "check the credentials and what they may do"))
    if isinstance(error, FileNotFoundError) or status == 404:
        return NotFound(f"{what}: no such object")
    if isinstance(error, exceptions.AlreadyExistsError | exceptions.PreconditionError):
        return Exists(f"{what}: exists already")
    return Unavailable(message, remedy=next((remedy for sign, _, remedy in _CAUSES if sign in text), None))


_REFUSED = (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError)


def _code_of(error: Exception) -> str:
    match = _CODE.search(str(error))
    return match[1] or match[2] if match else ""


def _reason(text: str, status: int, code: str) -> str:
    said = _MESSAGE.search(text)
    if code or said:
        return f"{code or status}: {said[1]}" if said else code
    plain = " ".join(text.partition("Debug source")[0].split())
    for noise in _NOISE:
        plain = plain.removeprefix(noise)
    cause = next((cause for sign, cause, _ in _CAUSES if cause and sign in text), "")
    return f"{plain[:_MAX_REASON]} ({cause})" if cause else plain[:_MAX_REASON]
