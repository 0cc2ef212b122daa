"""Telling browsers from tools, as Ray's dashboard does: browsers see no values of variables.

Rule: `is_browser_request` of Ray 2.60.
"""

from __future__ import annotations

from collections.abc import Mapping

_BROWSER_HEADERS = (
    "referer",
    "origin",
    "sec-fetch-mode",
    "sec-fetch-dest",
    "sec-fetch-site",
    "sec-fetch-user",
    "access-control-request-method",
    "access-control-request-headers",
)


def is_browser(headers: Mapping[str, str]) -> bool:
    """Whether a request looks like a browser's."""
    return headers.get("user-agent", "").startswith("Mozilla") or any(
        name in headers for name in _BROWSER_HEADERS
    )
