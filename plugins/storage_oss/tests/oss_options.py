"""Options that lead the `oss` plugin to the test's servers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rayhist.plugins import Plugins, options_of
from rayhist.storage import Store
from rayhist_testkit.servers.alibaba import AUDIENCE, PROVIDER_ARN, ROLE_ARN, StsFront
from rayhist_testkit.servers.oss import REGION, OssFront
from rayhist_testkit.servers.seaweedfs import WRITER, Identity, SeaweedFS
from rayhist_testkit.servers.token_issuer import TokenIssuer


def opened(url: str, **options: Any) -> Store:
    kind = Plugins.discover().storage("oss")
    return kind.open(url, options_of(kind, options, "$.storage.options"))


def through(front: OssFront) -> dict[str, Any]:
    return {
        "region": REGION,
        "endpoint": front.address(),
        "proxy": front.endpoint,
        "allow_http": True,
        "metadata_service": False,
        "max_retries": 1,
    }


def with_keys(front: OssFront, server: SeaweedFS, identity: Identity = WRITER) -> dict[str, Any]:
    keys = server.options(identity)
    return through(front) | {
        "access_key_id": keys["access_key_id"],
        "access_key_secret": keys["secret_access_key"],
    }


def with_role(front: OssFront, sts: StsFront, token_file: Path) -> dict[str, Any]:
    return through(front) | {
        "identity": "rrsa",
        "role_arn": ROLE_ARN,
        "oidc_provider_arn": PROVIDER_ARN,
        "oidc_token_file": str(token_file),
        "sts_endpoint": sts.endpoint,
    }


def pod_token(issuer: TokenIssuer, folder: Path, **claims: Any) -> Path:
    """A token's file as the kubelet projects it."""
    path = folder / "token"
    path.write_text(issuer.token(**({"audience": AUDIENCE} | claims)))
    return path
