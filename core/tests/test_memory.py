"""The `memory` store: which ones are the same."""

from __future__ import annotations

import asyncio
from uuid import uuid4

from rayhist.memory import Options, open_store
from rayhist_testkit.contracts.stores import listed


def test_stores_of_one_name_are_one_store() -> None:
    name = uuid4().hex
    asyncio.run(open_store(f"memory://{name}", Options()).put("key", b"data"))
    assert asyncio.run(open_store(f"memory://{name}", Options()).get("key")) == b"data"
    assert asyncio.run(listed(open_store(f"memory://{name}-other", Options()))) == []


def test_an_unnamed_store_is_always_new() -> None:
    asyncio.run(open_store("memory:", Options()).put("key", b"data"))
    assert asyncio.run(listed(open_store("memory:", Options()))) == []


def test_what_was_put_does_not_change_with_the_buffer_it_came_from() -> None:
    buffer = bytearray(b"data")
    store = open_store("memory:", Options())
    asyncio.run(store.put("key", buffer))
    buffer[:] = b"evil"
    assert asyncio.run(store.get("key")) == b"data"
