"""Which of the sources it is, by the options and the environment."""

from __future__ import annotations

from collections.abc import Mapping

from rayhist.config import Secret
from rayhist.errors import ConfigError
from rayhist_obstore.client import checked_endpoint
from rayhist_storage_oss.options import Options
from rayhist_storage_oss.sources import EcsRole, Keys, Rrsa, Source

_KEY, _SECRET = "ALIBABA_CLOUD_ACCESS_KEY_ID", "ALIBABA_CLOUD_ACCESS_KEY_SECRET"
_TOKEN = "ALIBABA_CLOUD_SECURITY_TOKEN"  # noqa: S105 - a name
_ROLE, _PROVIDER = "ALIBABA_CLOUD_ROLE_ARN", "ALIBABA_CLOUD_OIDC_PROVIDER_ARN"
_TOKEN_FILE = "ALIBABA_CLOUD_OIDC_TOKEN_FILE"  # noqa: S105 - a name
_STS, _REGION = "ALIBABA_CLOUD_STS_ENDPOINT", "ALIBABA_CLOUD_STS_REGION"
_HOW = "set access_key_id and access_key_secret, give the pod a role (RRSA), or set identity"


def chosen(options: Options, environment: Mapping[str, str], certificate: bytes | None) -> Source | None:
    """The source of credentials; `None` for anonymous access.  Raises `ConfigError` if there is none."""
    if options.identity == "anonymous":
        if options.access_key_id or options.access_key_secret:
            raise ConfigError("anonymous access takes no keys", remedy="remove the keys, or `identity`")
        return None
    found: Source | None = None
    if options.identity in {"auto", "keys"}:
        found = _keys(options, environment)
    if found is None and options.identity in {"auto", "rrsa"}:
        found = _rrsa(options, environment, certificate)
    if found is None and _may_ask_metadata(options):
        found = EcsRole(_metadata(options), options.ecs_role)
    if found is None:
        raise ConfigError(f"no credentials for OSS with identity {options.identity!r}", remedy=_HOW)
    return found


def region_of(options: Options, environment: Mapping[str, str]) -> str:
    """The region without `oss-` before it; empty if nobody says."""
    return (options.region or environment.get(_REGION, "")).removeprefix("oss-")


def _keys(options: Options, environment: Mapping[str, str]) -> Keys | None:
    key, secret = options.access_key_id, options.access_key_secret
    if key and secret:
        keys = Keys("[storage.options]", key, secret, options.security_token)
    elif key or secret:
        raise ConfigError(
            "access_key_id and access_key_secret belong together", remedy="set both in [storage.options]"
        )
    elif environment.get(_KEY) and environment.get(_SECRET):
        token = Secret("env", _TOKEN) if environment.get(_TOKEN) else None
        keys = Keys(f"${_KEY}", Secret("env", _KEY), Secret("env", _SECRET), token)
    else:
        return None
    keys.fetch()  # now, rather than at the first request
    return keys


def _rrsa(options: Options, environment: Mapping[str, str], certificate: bytes | None) -> Rrsa | None:
    given = {
        "role_arn": (options.role_arn, _ROLE),
        "oidc_provider_arn": (options.oidc_provider_arn, _PROVIDER),
        "oidc_token_file": (options.oidc_token_file, _TOKEN_FILE),
    }
    values = {name: value or environment.get(variable, "") for name, (value, variable) in given.items()}
    missing = [name for name, value in values.items() if not value]
    if len(missing) == len(values) and options.identity == "auto":
        return None
    if missing:
        wanted = " and ".join(f"{name} (${given[name][1]})" for name in missing)
        raise ConfigError(
            f"RRSA without {wanted}",
            remedy="label the namespace pod-identity.alibabacloud.com/injection=on and create the pod anew, "
            "or set them in [storage.options]",
        )
    from_options = any(value for value, _ in given.values())
    return Rrsa(
        *values.values(),
        where="[storage.options]" if from_options else "as the environment says",
        sts=_sts(options, environment),
        session=(options.role_session_name, options.session_s),
        certificate=certificate,
    )


def _sts(options: Options, environment: Mapping[str, str]) -> str:
    """STS in the region, by its internal address where the store's is internal too."""
    if options.sts_endpoint:
        return checked_endpoint(options.sts_endpoint, options, "https://sts.cn-hangzhou.aliyuncs.com")
    if host := environment.get(_STS):
        return f"https://{host.removeprefix('https://').rstrip('/')}"
    region = region_of(options, environment)
    if not region:
        return "https://sts.aliyuncs.com"
    return f"https://sts{'-vpc' if options.network == 'internal' else ''}.{region}.aliyuncs.com"


def _may_ask_metadata(options: Options) -> bool:
    return options.identity == "ecs-role" or (options.identity == "auto" and options.metadata_service)


def _metadata(options: Options) -> str:
    if not options.metadata_endpoint.startswith(("http://", "https://")):
        raise ConfigError(
            f"metadata_endpoint {options.metadata_endpoint!r} is no address",
            remedy="for example http://100.100.100.200",
        )
    return options.metadata_endpoint
