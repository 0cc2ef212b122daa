"""Bodies as Ray's aggregator agent posts them: real events in a JSON array, no event twice."""

from __future__ import annotations

import binascii
import random
from itertools import cycle, islice

from rayhist_testkit import generator
from rayhist_testkit.generator import SESSION_NAME, Shape

_JOBS = 2
_POOL = 20_000
"""So many events, each with a new id whenever it comes round; more than a compressor looks back at."""
_BEFORE_ID = b'{"eventId":"'
_ID_LENGTH = 40
_ID_BYTES = 28


class Feed:
    """The events of one node, as the same `seed` always gives them."""

    def __init__(self, seed: int = 0) -> None:
        lines = [line.data for line in islice(generator.events(Shape(_POOL, _JOBS, nodes=1)), _POOL)]
        assert all(line.startswith(_BEFORE_ID) for line in lines)
        self.session = SESSION_NAME
        self.mean_bytes = sum(map(len, lines)) / len(lines)
        self._rest = cycle([line[len(_BEFORE_ID) + _ID_LENGTH :] for line in lines])
        self._random = random.Random(seed)  # noqa: S311 - ids need to differ, not to be secret

    def body(self, count: int) -> bytes:
        """The next `count` events."""
        ids = self._random.randbytes(_ID_BYTES * count)
        pieces = [
            _BEFORE_ID + binascii.b2a_base64(ids[start : start + _ID_BYTES], newline=False) + rest
            for start, rest in zip(range(0, len(ids), _ID_BYTES), self._rest, strict=False)
        ]
        return b"[" + b",".join(pieces) + b"]"
