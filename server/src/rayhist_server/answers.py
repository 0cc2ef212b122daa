"""Answers as the dashboard's server makes them: types spelt alike, bodies that are JSON already."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from litestar import Response

JSON = "application/json; charset=utf-8"


def json_answer(
    body: bytes, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response[bytes]:
    return Response(body, status_code=status, media_type=JSON, headers=headers)


def text_answer(
    message: str, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response[bytes]:
    """Plain text in UTF-8."""
    return Response(message.encode(), status_code=status, media_type="text/plain", headers=headers)


def attachment(name: str) -> str:
    """A `Content-Disposition` for any file name: RFC 6266, with an ASCII fallback and no way to break out."""
    plain = "".join(c if c.isascii() and c.isprintable() and c not in '"\\%' else "_" for c in name)
    header = f'attachment; filename="{plain}"'
    return header if plain == name else f"{header}; filename*=UTF-8''{quote(name, safe='')}"
