"""From the body of a POST to single events, also when the body is broken."""

from __future__ import annotations

import json

import msgspec

_DECODER = msgspec.json.Decoder(list[msgspec.Raw])


def split(body: bytes) -> list[bytes]:
    """The bytes of each element of a JSON array, unchanged.

    Of a body that is cut off or broken, the whole elements before the break and then the rest as it is; a
    body that is no array is one piece.  An empty body is no event.
    """
    try:
        return [bytes(element) for element in _DECODER.decode(body)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _salvage(body)


def _salvage(body: bytes) -> list[bytes]:
    text = body.decode("utf-8", "surrogateescape")
    start = len(text) - len(text.lstrip(" \t\r\n"))
    if text[start : start + 1] != "[":
        return [body] if body.strip() else []
    decoder = json.JSONDecoder()
    found = []
    position = _skip(text, start + 1)
    while position < len(text):
        try:
            _, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            break
        found.append(text[position:end].encode("utf-8", "surrogateescape"))
        position = _skip(text, end)
    rest = text[position:].strip(" \t\r\n]").encode("utf-8", "surrogateescape")
    return [*found, rest] if rest else found


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n,":
        position += 1
    return position
