"""Asking a Ray Dashboard, live or replayed, over HTTP."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlencode

from rayhist.errors import RayhistError, Unavailable

_TIMEOUT_S = 60


class Dashboard:
    """The routes below one base address."""

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/") + "/"
        # Loopback is never behind a proxy, whatever the environment says of the rest of the world.
        self._open = urllib.request.build_opener(urllib.request.ProxyHandler({})).open

    def raw(self, path: str, **parameters: object) -> bytes:
        """The body of `path`.  Raises `RayhistError` for an error status, `Unavailable` for no answer."""
        url = self.address + path + ("?" + urlencode(parameters) if parameters else "")
        try:
            with self._open(url, timeout=_TIMEOUT_S) as answer:
                body: bytes = answer.read()
        except urllib.error.HTTPError as error:
            text = error.read().decode(errors="replace")
            raise RayhistError(f"{url}: status {error.code}: {text[:300]}") from error
        except OSError as error:
            raise Unavailable(f"{url}: {error}") from error
        return body

    def json(self, path: str, **parameters: object) -> Any:
        """The decoded body of `path`."""
        return json.loads(self.raw(path, **parameters))

    def rows(self, resource: str, **filters: str) -> list[dict[str, Any]]:
        """All rows of the state API's `resource` (`tasks`, `actors`, …) whose columns equal the filters."""
        parameters: list[tuple[str, object]] = [("detail", 1), ("limit", 10_000)]
        for key, value in filters.items():
            parameters += [("filter_keys", key), ("filter_predicates", "="), ("filter_values", value)]
        answer = self.json(f"api/v0/{resource}?{urlencode(parameters)}")
        rows: list[dict[str, Any]] = answer["data"]["result"]["result"]
        return rows

    def answers(self, path: str) -> bool:
        """Whether `path` is answered at all."""
        try:
            self.raw(path)
        except RayhistError:
            return False
        return True
