"""How one cloud words its failures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec


class Cause(NamedTuple):
    """What a failure's text holds, what that means (or nothing), and the remedy."""

    sign: str
    meaning: str
    remedy: str


class Dialect(msgspec.Struct, frozen=True, kw_only=True):
    """Codes and texts of one cloud's failures, each with its remedy.

    A code is what stands in `<Code>…</Code>` of the answer.
    """

    cloud: str
    """Its name in messages."""
    denied: Mapping[str, str]
    """Codes by which credentials are refused → remedy."""
    configuration: Mapping[str, str]
    """Codes that only another configuration mends → remedy."""
    passing: frozenset[str] = frozenset()
    """Codes of failures that pass by themselves, whatever their status."""
    causes: tuple[Cause, ...] = ()
    """Signs of failures on the way to the cloud or to its credentials, most specific first."""
    identity: tuple[Cause, ...] = ()
    """Signs of credentials that were refused before the cloud was asked for anything, most specific first."""
    missing_bucket: str = "create the bucket, or check [storage] url and endpoint"
    """Remedy for a bucket that is not there."""
    refused: str = "check the credentials and what they may do"
    """Remedy for a refusal without a known code."""


NOT_THERE = "check endpoint, and that the server runs"

ON_THE_WAY = (
    Cause(
        "InvalidCertificate", "its certificate is not trusted", "name its authority's file in ca_certificate"
    ),
    Cause("ConnectionRefused", "connection refused", NOT_THERE),
    Cause("dns error", "its name is not known", "check endpoint, and this machine's name service"),
    Cause("kind: Timeout", "no answer in time", NOT_THERE),
    Cause("empty path segment", "", "remove that object, which is not of this project"),
    Cause("error sending request", "", NOT_THERE),
)
"""What is the same on the way to every cloud."""
