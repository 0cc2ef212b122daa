"""Alibaba's STS and an ECS instance's metadata service, with their rules.

STS takes `AssumeRoleWithOIDC`, judges the token's claims and the role's trust policy as RAM does, and lets
SeaweedFS, which checks the signature against the issuer's keys, give the temporary keys.
"""

from __future__ import annotations

import http.client
import json
import re
import time
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import msgspec

from rayhist_testkit.servers.http import HOST
from rayhist_testkit.servers.seaweedfs import ROLE
from rayhist_testkit.servers.threaded import Answer, Request, ThreadedServer
from rayhist_testkit.servers.token_issuer import claims_of

AUDIENCE = "sts.aliyuncs.com"
PROVIDER_ARN = "acs:ram::1:oidc-provider/cluster"
ROLE_ARN = "acs:ram::1:role/history"
_DENIED = "AuthenticationFail.NoPermission"
_TIMEOUT_S = 10.0


class TrustPolicy(msgspec.Struct, frozen=True):
    """What of a role's trust policy is judged."""

    action: str = "sts:AssumeRole"
    subject: str = "system:serviceaccount:ray:history"


class StsFront(ThreadedServer):
    """STS for one role and one provider; `port` is SeaweedFS's."""

    def __init__(self, port: int, issuer: str, trust: TrustPolicy | None = None) -> None:
        super().__init__()
        self._port = port
        self._issuer = issuer
        self.trust = trust or TrustPolicy()
        self.throttled = 0
        """How many of the next requests are denied for flow control."""
        self.lifetime: timedelta | None = None
        """How long credentials are said to last, if not as long as they do."""

    def answer(self, request: Request) -> Answer:
        fields = request.fields()
        refusal = self._refusal(fields)
        if refusal is not None:
            status, code, message = refusal
            return _json(status, {"RequestId": "1", "Code": code, "Message": message})
        credentials = self.lend(fields)
        if credentials is None:
            code = "AuthenticationFail.OIDCToken.Invalid"
            return _json(400, {"RequestId": "1", "Code": code, "Message": "This JsonWebToken is invalid."})
        return _json(200, {"RequestId": "1", "Credentials": credentials})

    def _refusal(self, fields: dict[str, str]) -> tuple[int, str, str] | None:
        if self.throttled:
            self.throttled -= 1
            return 429, "Throttling.User", "Request was denied due to user flow control."
        if fields.get("Action") != "AssumeRoleWithOIDC" or fields.get("Version") != "2015-04-01":
            return 404, "InvalidAction.NotFound", "Specified api is not found."
        if fields.get("OIDCProviderArn") != PROVIDER_ARN:
            return 400, _DENIED, "No such OIDC Provider registered."
        if fields.get("RoleArn") != ROLE_ARN:
            return 404, "EntityNotExist.Role", f"The role not exists: {fields.get('RoleArn')}."
        try:
            claims = claims_of(fields.get("OIDCToken", ""))
        except ValueError:
            return 400, "AuthenticationFail.OIDCToken.Invalid", "This JsonWebToken is invalid."
        return self._judged(claims)

    def _judged(self, claims: dict[str, Any]) -> tuple[int, str, str] | None:
        fail = "AuthenticationFail.OIDCToken"
        if claims["iss"] != self._issuer:
            return 400, f"{fail}.IssuerNotMatch", "The issuer doesn't match the OIDC Provider registered."
        if AUDIENCE not in claims["aud"]:
            return 400, f"{fail}.AudienceNotMatch", "Invalid audience."
        if claims["exp"] < time.time():
            return 400, f"{fail}.Expired", "This JsonWebToken is expired."
        if self.trust.action != "sts:AssumeRole" or claims["sub"] != self.trust.subject:
            return 403, _DENIED, "There is no permission. (ImplicitDeny)"
        return None

    def lend(self, fields: dict[str, str]) -> dict[str, str] | None:
        """Credentials of the role for the `OIDCToken`; `None` if its signature is not the issuer's."""
        asked = {
            "Action": "AssumeRoleWithWebIdentity",
            "Version": "2011-06-15",
            "RoleArn": ROLE,
            "RoleSessionName": fields["RoleSessionName"],
            "DurationSeconds": fields["DurationSeconds"],
            "WebIdentityToken": fields["OIDCToken"],
        }
        connection = http.client.HTTPConnection(HOST, self._port, timeout=_TIMEOUT_S)
        try:
            connection.request("POST", f"/?{urlencode(asked)}")
            found = connection.getresponse()
            text = found.read().decode()
        finally:
            connection.close()
        return self._credentials(text) if found.status == http.client.OK else None

    def _credentials(self, text: str) -> dict[str, str]:
        def field(name: str) -> str:
            match = re.search(f"<{name}>(.*?)</{name}>", text, re.DOTALL)
            assert match, text
            return match[1]

        until = re.sub(r"\.\d+", "", field("Expiration"))
        if self.lifetime is not None:
            until = f"{datetime.now(UTC) + self.lifetime:%Y-%m-%dT%H:%M:%SZ}"
        return {
            "AccessKeyId": field("AccessKeyId"),
            "AccessKeySecret": field("SecretAccessKey"),
            "SecurityToken": field("SessionToken"),
            "Expiration": until,
        }


class EcsMetadata(ThreadedServer):
    """The metadata service of an instance in hardened mode, with one RAM role."""

    ROLE = "history"
    _SESSION = "a-session"
    _PATH = "/latest/meta-data/ram/security-credentials/"

    def __init__(self, credentials: dict[str, str]) -> None:
        """`credentials`: AccessKeyId, AccessKeySecret, SecurityToken, Expiration."""
        super().__init__()
        self.credentials = credentials

    def answer(self, request: Request) -> Answer:
        if (request.method, request.target) == ("PUT", "/latest/api/token"):
            seconds = request.headers.get("x-aliyun-ecs-metadata-token-ttl-seconds", "")
            good = seconds.isdecimal() and 1 <= int(seconds) <= 21600
            return Answer(200, self._SESSION.encode()) if good else Answer(400)
        if request.headers.get("x-aliyun-ecs-metadata-token") != self._SESSION:
            return Answer(401)
        if request.target == self._PATH:
            return Answer(200, self.ROLE.encode())
        if request.target == self._PATH + self.ROLE:
            return _json(200, self.credentials | {"Code": "Success"})
        return Answer(404)


def _json(status: int, document: dict[str, Any]) -> Answer:
    return Answer(status, json.dumps(document).encode(), {"content-type": "application/json"})
