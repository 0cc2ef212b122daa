"""An OpenID Connect issuer as a Kubernetes cluster is one for its service accounts (`cryptography` signs)."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256

from rayhist_testkit.servers.threaded import Answer, Request, ThreadedServer

JWKS = "/openid/v1/jwks"
_KEY_ID = "first"


class TokenIssuer(ThreadedServer):
    """Serves its discovery document and key set, and makes tokens; `endpoint` is the issuer's name."""

    def __init__(self) -> None:
        super().__init__()
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def token(
        self, audience: str, *, subject: str = "system:serviceaccount:ray:history", ttl_s: int = 3600
    ) -> str:
        now = int(time.time())
        claims = {"iss": self.endpoint, "sub": subject, "aud": [audience], "iat": now, "exp": now + ttl_s}
        head = {"alg": "RS256", "typ": "JWT", "kid": _KEY_ID}
        signed = f"{_encoded(head)}.{_encoded(claims)}"
        signature = self._key.sign(signed.encode(), padding.PKCS1v15(), SHA256())
        return f"{signed}.{_base64(signature)}"

    def answer(self, request: Request) -> Answer:
        documents = {"/.well-known/openid-configuration": self._discovery, JWKS: self._keys}
        if request.target not in documents:
            return Answer(404)
        body = json.dumps(documents[request.target]()).encode()
        return Answer(200, body, {"content-type": "application/json"})

    def _discovery(self) -> dict[str, Any]:
        return {
            "issuer": self.endpoint,
            "jwks_uri": self.endpoint + JWKS,
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
        }

    def _keys(self) -> dict[str, Any]:
        numbers = self._key.public_key().public_numbers()
        key = {"kty": "RSA", "kid": _KEY_ID, "use": "sig", "alg": "RS256"}
        return {"keys": [key | {"n": _number(numbers.n), "e": _number(numbers.e)}]}


def claims_of(token: str) -> dict[str, Any]:
    """What a token claims, unchecked.  Raises `ValueError` if it is none."""
    _, middle, _ = token.split(".")
    claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4)))
    return claims


def _encoded(document: dict[str, Any]) -> str:
    return _base64(json.dumps(document).encode())


def _number(value: int) -> str:
    return _base64(value.to_bytes((value.bit_length() + 7) // 8, "big"))


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
