"""How OSS and its STS word their failures.

OSS: alibabacloud.com/help/en/oss/support/http-status-code-403 and its neighbours.  STS: the table of RRSA's
errors in the ACK user guide.
"""

from __future__ import annotations

from rayhist_obstore.dialect import Cause, Dialect

_RIGHTS = "allow oss:GetObject, oss:ListObjects, and for a collector oss:PutObject and oss:DeleteObject"
_RENEW = "renew security_token and its keys"

DIALECT = Dialect(
    cloud="OSS",
    denied={
        "AccessDenied": _RIGHTS,
        "InvalidAccessKeyId": "check access_key_id: OSS does not know it, or it is disabled",
        "InvalidSecurityToken": _RENEW,
        "RequestTimeTooSkewed": "set this machine's clock: OSS allows 15 minutes",
        "SecurityTokenExpired": _RENEW,
        "SignatureDoesNotMatch": "check access_key_secret: it does not fit access_key_id",
        "UserDisable": "OSS is not enabled for this account, or its bill is not paid",
    },
    configuration={
        "InvalidBucketName": "check the bucket in [storage] url",
        "NoSuchBucket": "create the bucket, or check [storage] url and region",
        "NotImplemented": "OSS cannot do that: leave conditional writes to x-oss-forbid-overwrite",
        "SecondLevelDomainForbidden": "leave `endpoint` empty, or give it without the bucket: OSS takes the "
        "bucket in the host's name only",
    },
    identity=(
        Cause(
            "must be addressed using the specified endpoint",
            "the bucket is in another region",
            "set `region` to the bucket's, and `network` to an endpoint that is enabled for it",
        ),
    ),
    refused="check the credentials and what they may do",
)

TRUST_POLICY = (
    "the role's trust policy does not let this pod in.  Its Action has to be sts:AssumeRole (not "
    "sts:AssumeRoleWithOIDC), Principal.Federated the cluster's OIDC provider, oidc:aud sts.aliyuncs.com and "
    "oidc:sub system:serviceaccount:NAMESPACE:NAME of the pod's service account; if there is a condition "
    "oidc:iss, it has to be the provider's URL to the letter: leave it out to try"
)
_ENABLE = "enable RRSA for the cluster, check oidc_provider_arn, and create the pod anew"

STS = {
    "AuthenticationFail.NoPermission": TRUST_POLICY,
    "NoPermission": TRUST_POLICY,
    "AuthenticationFail.OIDCToken.AudienceNotMatch": "the token is for another audience: project it with "
    "audience sts.aliyuncs.com",
    "AuthenticationFail.OIDCToken.Expired": "the token in oidc_token_file is too old: let the kubelet "
    "project it, and check this machine's clock",
    "AuthenticationFail.OIDCToken.IssuerConfigurationBroken": _ENABLE,
    "AuthenticationFail.OIDCToken.IssuerNotMatch": _ENABLE,
    "AuthenticationFail.OIDCToken.PublicKeyFingerprintMismatch": "renew the fingerprint of the OIDC provider",
    "AuthenticationFail.OIDCToken.Invalid": "oidc_token_file holds no token of this cluster",
    "EntityNotExist.Role": "create the RAM role, or check role_arn",
    "InvalidParameter.DurationSeconds": "lower session_s, or raise the role's longest session",
    "InvalidParameter.OIDCProviderArn": "check oidc_provider_arn",
    "InvalidParameter.RoleArn": "check role_arn",
}
"""Code of a refusal → remedy."""

NO_PROVIDER = _ENABLE
"""`AuthenticationFail.NoPermission` also says `No such OIDC Provider registered`."""
