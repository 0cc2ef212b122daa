"""Where the credentials come from."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from rayhist.config import Secret
from rayhist.errors import ConfigError
from rayhist_storage_s3.options import Options

if TYPE_CHECKING:
    from obstore.store import S3Credential

_BELIEVED = timedelta(minutes=15)
"""obstore asks again when less than five minutes are left."""

_IN_ENVIRONMENT = (
    {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"},
    {"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN"},
    {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"},
    {"AWS_CONTAINER_CREDENTIALS_FULL_URI"},
)


class Keys:
    """Credentials out of secrets, read anew now and then, so that rotated ones are seen."""

    def __init__(
        self, access_key_id: Secret, secret_access_key: Secret, session_token: Secret | None
    ) -> None:
        self._secrets = (access_key_id, secret_access_key, session_token)

    def __call__(self) -> S3Credential:
        access_key_id, secret_access_key, session_token = self._secrets
        return {
            "access_key_id": access_key_id.reveal(),
            "secret_access_key": secret_access_key.reveal(),
            "token": session_token.reveal() if session_token else None,
            "expires_at": datetime.now(UTC) + _BELIEVED,
        }


def keys_of(options: Options, environment: Mapping[str, str]) -> Keys | None:
    """The keys of the options; `None` if obstore is to find credentials, or needs none.

    Raises `ConfigError` if there cannot be any, if half of them are missing, or if one cannot be read.
    """
    access_key_id, secret_access_key = options.access_key_id, options.secret_access_key
    if options.anonymous:
        if access_key_id or secret_access_key:
            raise ConfigError("anonymous access takes no keys", remedy="remove the keys, or `anonymous`")
        return None
    if access_key_id and secret_access_key:
        keys = Keys(access_key_id, secret_access_key, options.session_token)
        keys()  # now, rather than at the first request
        return keys
    if access_key_id or secret_access_key:
        raise ConfigError(
            "access_key_id and secret_access_key belong together", remedy="set both in [storage.options]"
        )
    known = {name for name, value in environment.items() if value}
    if not options.metadata_service and not any(names <= known for names in _IN_ENVIRONMENT):
        raise ConfigError(
            "no credentials for S3, and the metadata service is not to be asked",
            remedy="set access_key_id and secret_access_key in [storage.options], or $AWS_ACCESS_KEY_ID and "
            "$AWS_SECRET_ACCESS_KEY, or `anonymous`",
        )
    return None
