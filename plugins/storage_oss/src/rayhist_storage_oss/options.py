"""`[storage.options]` of an `oss://` archive."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from rayhist.config import Secret
from rayhist_obstore.client import ClientOptions


class Options(ClientOptions, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Options of the `oss` store.

    With `identity = "auto"` credentials are looked for in this order: keys in these options, keys in
    `$ALIBABA_CLOUD_ACCESS_KEY_ID` and `$ALIBABA_CLOUD_ACCESS_KEY_SECRET`, the pod's role (RRSA), the ECS
    instance's role.
    """

    region: str = ""
    """Region, such as `cn-hangzhou`; empty: `$ALIBABA_CLOUD_STS_REGION`, which RRSA puts into a pod."""
    network: Literal["public", "internal", "accelerate", "accelerate-overseas"] = "public"
    """Which of OSS's endpoints; `internal` is for machines in the bucket's region and costs no traffic."""
    endpoint: str = ""
    """Address without the bucket, `https://…`; empty: OSS's own for `region` and `network`."""
    identity: Literal["auto", "keys", "rrsa", "ecs-role", "anonymous"] = "auto"
    """Where the credentials come from."""
    access_key_id: Secret | None = None
    """Access key: `{ env = "…" }` or `{ file = "…" }`.  It is read again every ten minutes."""
    access_key_secret: Secret | None = None
    """Its secret, in the same way."""
    security_token: Secret | None = None
    """Token of temporary credentials (STS), in the same way."""
    role_arn: str = ""
    """RRSA: ARN of the RAM role; empty: `$ALIBABA_CLOUD_ROLE_ARN`."""
    oidc_provider_arn: str = ""
    """RRSA: ARN of the cluster's OIDC provider; empty: `$ALIBABA_CLOUD_OIDC_PROVIDER_ARN`."""
    oidc_token_file: str = ""
    """RRSA: file with the pod's token; empty: `$ALIBABA_CLOUD_OIDC_TOKEN_FILE`."""
    role_session_name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9._@-]{2,64}$")] = "rayhist"
    """RRSA: how the session is called in the cloud's audit log."""
    session_s: Annotated[int, Meta(ge=900, le=43200)] = 3600
    """RRSA: seconds for which credentials are asked; the role's own limit is one hour unless raised."""
    sts_endpoint: str = ""
    """Address of STS; empty: `$ALIBABA_CLOUD_STS_ENDPOINT`, or STS's own in the region."""
    ecs_role: str = ""
    """ECS: name of the instance's RAM role; empty: ask the metadata service."""
    metadata_service: bool = True
    """Whether `auto` may ask the metadata service of the machine."""
    metadata_endpoint: str = "http://100.100.100.200"
    """Address of the metadata service."""
