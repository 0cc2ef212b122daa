"""Which event ids were seen of late, in bounded memory."""

from __future__ import annotations


class RecentIds:
    """Remembers at least the last `size` ids, and at most twice as many.

    Ray sends a batch again until it was answered and nothing else before, so a few batches are enough.
    """

    def __init__(self, size: int = 1 << 16) -> None:
        self._size = size
        self._young: set[int] = set()
        self._old: set[int] = set()

    def __contains__(self, event_id: str) -> bool:
        # Hashes instead of texts: a quarter of the memory; two of 2**64 never meet by accident.
        found = hash(event_id)
        return found in self._young or found in self._old

    def add(self, event_id: str) -> None:
        self._young.add(hash(event_id))
        if len(self._young) >= self._size:
            self._old, self._young = self._young, set()
