"""Proxies that the environment puts between this machine and the store."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from rayhist.doctor.finding import Finding, State

_VARIABLES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
_EXCEPT = "NO_PROXY"


def finding(environment: Mapping[str, str]) -> Finding:
    """Which proxies there are.  That is no fault, but it explains many."""
    found = in_environment(environment)
    if not found:
        return Finding("proxy", State.OK, "none in the environment")
    excepted = environment.get(_EXCEPT) or environment.get(_EXCEPT.lower()) or "nothing"
    return Finding("proxy", State.OK, f"{' and '.join(found)}, except for {excepted} (${_EXCEPT})")


def suspicion(environment: Mapping[str, str]) -> str:
    """What to try if the store cannot be reached, or somebody else answers for it; empty without proxies."""
    found = in_environment(environment)
    if not found:
        return ""
    return f"a proxy may be in the way, {' or '.join(found)}: let it through, or add the host to ${_EXCEPT}"


def in_environment(environment: Mapping[str, str]) -> list[str]:
    """`$NAME=address` of each proxy, without user and password."""
    names = [name for variable in _VARIABLES for name in (variable, variable.lower())]
    return [f"${name}={_without_secrets(environment[name])}" for name in names if environment.get(name)]


def _without_secrets(address: str) -> str:
    try:
        parts = urlsplit(address if "//" in address else f"//{address}")
    except ValueError:
        return "(no address)"
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
