"""How S3 words its failures."""

from __future__ import annotations

from rayhist_obstore.dialect import Cause, Dialect

_RIGHTS = "allow s3:GetObject, s3:ListBucket, and for a collector s3:PutObject and s3:DeleteObject"
_NO_CREDENTIALS = "set access_key_id and secret_access_key, or give the machine a role"
_NO_METADATA = "the machine's metadata service gives no credentials"

DIALECT = Dialect(
    cloud="S3",
    denied={
        "AccessDenied": _RIGHTS,
        "AllAccessDisabled": _RIGHTS,
        "ExpiredToken": "renew session_token and its keys",
        "InvalidAccessKeyId": "check access_key_id: the server does not know it",
        "InvalidToken": "renew session_token and its keys",
        "RequestTimeTooSkewed": "set this machine's clock",
        "SignatureDoesNotMatch": "check secret_access_key: it does not fit access_key_id",
    },
    configuration={
        "AuthorizationHeaderMalformed": "check region in [storage.options]",
        "InvalidBucketName": "check the bucket in [storage] url",
        "NoSuchBucket": "create the bucket, or check [storage] url and endpoint",
        "NotImplemented": "the server cannot do that; check which S3 features it has",
        "PermanentRedirect": "check region and endpoint in [storage.options]",
    },
    passing=frozenset({"ConditionalRequestConflict", "OperationAborted", "RequestTimeout"}),
    causes=(
        Cause("169.254.169.254", "the machine has no metadata service to give credentials", _NO_CREDENTIALS),
        Cause("/latest/api/token", _NO_METADATA, _NO_CREDENTIALS),
        Cause("/latest/meta-data", _NO_METADATA, _NO_CREDENTIALS),
    ),
)
