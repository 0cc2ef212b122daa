"""`[storage.options]` of an `s3://` archive."""

from __future__ import annotations

from rayhist.config import Secret
from rayhist_obstore.client import ClientOptions


class Options(ClientOptions, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Options of the `s3` store.

    What is not set here is taken from the environment variables `AWS_*`.  Credentials are looked for in this
    order: these options, the environment (keys, a web identity's token as on EKS, a container's as on ECS),
    and the metadata service of the machine.
    """

    endpoint: str = ""
    """Address of the server, `https://…`; empty: Amazon's in the region."""
    region: str = ""
    """Region; empty: `$AWS_REGION`, or `us-east-1`.  Most other servers take any."""
    access_key_id: Secret | None = None
    """Access key: `{ env = "…" }` or `{ file = "…" }`.  It is read again every ten minutes."""
    secret_access_key: Secret | None = None
    """Secret key, in the same way."""
    session_token: Secret | None = None
    """Token of temporary credentials, in the same way."""
    anonymous: bool = False
    """Sign nothing: for a bucket that everybody may read."""
    metadata_service: bool = True
    """Whether the machine's metadata service (169.254.169.254) may be asked for credentials."""
    path_style: bool = True
    """`https://server/bucket/key`; false: `https://bucket.server/key`, which some servers insist on."""
    bulk_delete: bool = True
    """Delete up to a thousand objects per request; false: one by one, for servers that cannot."""
