"""What every kind of import needs."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from rayhist.clock import Clock
from rayhist.ids import Cluster
from rayhist.redaction import Redactor
from rayhist.storage import Store
from rayhist_collector.tail import Mask


class Import(msgspec.Struct, frozen=True):
    """Where it goes, under which cluster, and who hears of it."""

    store: Store
    cluster: Cluster
    clock: Clock
    redactor: Redactor | None
    mask: Mask | None
    say: Callable[[str], None]
    """Is told a line for people."""
    progress: Callable[[int], None]
    """Is told the bytes of logs that were filed."""
