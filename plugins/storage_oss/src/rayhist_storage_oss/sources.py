"""Where credentials come from: keys, the pod's role (RRSA), the instance's role."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import msgspec

from rayhist.config import Secret
from rayhist.errors import ConfigError, Denied, RayhistError, Unavailable
from rayhist_storage_oss.asking import Response, ask
from rayhist_storage_oss.dialect import NO_PROVIDER, STS

_REREAD = timedelta(minutes=15)
_STS_VERSION = "2015-04-01"
_METADATA_SESSION_S = "60"
_TOKEN_PATH = "/latest/api/token"  # noqa: S105 - a path
_ROLE_PATH = "/latest/meta-data/ram/security-credentials/"
_PROJECT_IT = (
    "label the namespace pod-identity.alibabacloud.com/injection=on, annotate the service account with "
    "pod-identity.alibabacloud.com/role-name, and create the pod anew; or set oidc_token_file"
)


class Credential(msgspec.Struct, frozen=True):
    access_key_id: str
    access_key_secret: str
    token: str | None
    expires_at: datetime

    def __repr__(self) -> str:
        return f"Credential({self.access_key_id}, until {self.expires_at})"


class Source(Protocol):
    description: str
    """Who this is and where that was found, without secrets."""

    def fetch(self) -> Credential:
        """Blocking.  Raises `Unavailable` if it may work later, else `Denied` or `ConfigError`."""


class Keys:
    """Keys out of secrets, read anew now and then, so that rotated ones are seen."""

    def __init__(self, where: str, access_key_id: Secret, secret: Secret, token: Secret | None) -> None:
        self._secrets = (access_key_id, secret, token)
        kind = "temporary keys (STS)" if token else "static keys"
        self.description = f"{kind} {_masked(access_key_id.reveal())}, {where}"

    def fetch(self) -> Credential:
        access_key_id, secret, token = self._secrets
        expires_at = datetime.now(UTC) + _REREAD
        return Credential(
            access_key_id.reveal(), secret.reveal(), token.reveal() if token else None, expires_at
        )


class Rrsa:
    """`AssumeRoleWithOIDC` with the pod's token: one unsigned request to STS.

    alibabacloud.com/help/en/resource-access-management/latest/assumerolewithoidc.
    """

    def __init__(
        self,
        role_arn: str,
        provider_arn: str,
        token_file: str,
        *,
        where: str,
        sts: str,
        session: tuple[str, int],
        certificate: bytes | None,
    ) -> None:
        self._arguments = {"RoleArn": role_arn, "OIDCProviderArn": provider_arn}
        self._token_file = token_file
        self._sts = sts
        self._session = session
        self._certificate = certificate
        self.description = f"role {role_arn} (RRSA), token file {token_file}, {where}, from {sts}"

    def fetch(self) -> Credential:
        name, seconds = self._session
        answer = ask(
            "POST",
            f"{self._sts}/?Action=AssumeRoleWithOIDC&Format=JSON&Version={_STS_VERSION}"
            f"&Timestamp={datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
            form=self._arguments
            | {"OIDCToken": self._token(), "RoleSessionName": name, "DurationSeconds": str(seconds)},
            certificate=self._certificate,
        )
        if answer.status != 200:
            raise _refused(answer, f"{self._arguments['RoleArn']}: STS at {self._sts}")
        return _credential(answer, f"STS at {self._sts}", lambda document: document["Credentials"])

    def _token(self) -> str:
        """Read each time: the kubelet replaces it before it expires."""
        try:
            token = Path(self._token_file).read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ConfigError(f"token file {self._token_file}: {reason}", remedy=_PROJECT_IT) from error
        if not token:
            raise ConfigError(f"token file {self._token_file} is empty", remedy=_PROJECT_IT)
        return token


class EcsRole:
    """The RAM role of an ECS instance, from its metadata service, asked as a hardened one has to be."""

    def __init__(self, endpoint: str, role: str) -> None:
        self._endpoint = endpoint.rstrip("/")
        self._role = role
        self.description = f"role {role or '(the only one)'} of the ECS instance, from {self._endpoint}"

    def fetch(self) -> Credential:
        headers = {"X-aliyun-ecs-metadata-token": self._session()}
        role = self._role or self._get(_ROLE_PATH, headers).body.decode("utf-8", "replace").strip()
        answer = self._get(f"{_ROLE_PATH}{role}", headers)
        return _credential(answer, f"metadata service {self._endpoint}", lambda document: document)

    def _session(self) -> str:
        headers = {"X-aliyun-ecs-metadata-token-ttl-seconds": _METADATA_SESSION_S}
        return self._checked("PUT", _TOKEN_PATH, headers).body.decode("ascii", "replace").strip()

    def _get(self, path: str, headers: dict[str, str]) -> Response:
        return self._checked("GET", path, headers)

    def _checked(self, method: str, path: str, headers: dict[str, str]) -> Response:
        answer = ask(method, self._endpoint + path, headers=headers, directly=True)
        if answer.status == 200:
            return answer
        said = f"metadata service {self._endpoint}{path}: status {answer.status}"
        if answer.status == 404:
            raise Denied(said, remedy="attach a RAM role to the instance, or check ecs_role")
        if answer.status >= 500 or answer.status == 429:
            raise Unavailable(said)
        raise Denied(said, remedy="check metadata_endpoint, and how the instance's metadata may be read")


def _refused(answer: Response, who: str) -> RayhistError:
    try:
        document = msgspec.json.decode(answer.body, type=dict[str, Any])
    except msgspec.DecodeError:
        document = {}
    code, said = str(document.get("Code", "")), str(document.get("Message", ""))[:300]
    message = f"{who}: {code or 'status ' + str(answer.status)}: {said}".removesuffix(": ")
    if answer.status >= 500 or answer.status == 429 or code.startswith("Throttling"):
        return Unavailable(message, remedy="STS is overloaded; it is asked again")
    if "No such OIDC Provider" in said:
        return Denied(message, remedy=NO_PROVIDER)
    if not code:
        return Unavailable(message, remedy="somebody else answers for STS: check sts_endpoint and proxies")
    return Denied(
        message, remedy=STS.get(code, "check role_arn, oidc_provider_arn and the role's trust policy")
    )


def _credential(answer: Response, who: str, within: Callable[[Any], Any]) -> Credential:
    try:
        found = within(msgspec.json.decode(answer.body))
        expires_at = datetime.fromisoformat(found["Expiration"])
        return Credential(
            found["AccessKeyId"], found["AccessKeySecret"], found["SecurityToken"], expires_at.astimezone(UTC)
        )
    except (msgspec.DecodeError, KeyError, TypeError, ValueError) as error:
        raise Unavailable(f"{who}: the answer holds no credentials", remedy="look for a proxy") from error


def _masked(access_key_id: str) -> str:
    """Enough to tell two apart."""
    return f"{access_key_id[:4]}…{access_key_id[-4:]}" if len(access_key_id) > 11 else "…"
