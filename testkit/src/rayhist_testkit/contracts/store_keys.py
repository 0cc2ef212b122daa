"""Keys: odd ones work, hostile ones are refused before they reach anything."""

from __future__ import annotations

from rayhist.errors import BadIdentifier
from rayhist.ids import MAX_PART_BYTES
from rayhist.storage import Store
from rayhist_testkit.contracts.stores import ALL, StoreTests, failure, listed, on_store

ODD = [
    *(f"a{character}b" for character in " +%é#?&'()!*:@,[]{}=;~^$|<>\"`"),
    "%2e%2e",
    "%2F",
    "a  b",
    " a",
    "a ",
    "...",
    ".hidden",
    "a..b",
    "-rf",
    "日本語",
    "😀",
    "e\u0301",
]
"""Names that are plain text, though URLs, shells, globs or file systems take some characters otherwise."""

HOSTILE = ["", "/", "/etc/passwd", "a//b", "a/", "..", "../a", "a/../b", "a/..", "./a", "a/.", "a\0b", "a\nb"]
HOSTILE += ["a\\..\\b", "\ud800", "x" * (MAX_PART_BYTES + 1), "/".join(["x" * 200] * 6)]
HOSTILE_PREFIXES = [key for key in HOSTILE if key not in {"", "a/"}]


class Keys(StoreTests):
    @on_store
    async def test_odd_characters_are_plain_characters(self, store: Store) -> None:
        for name in ODD:
            key = f"odd/{name}/{name}"
            await store.put(key, name.encode())
            assert await store.get(key) == name.encode(), key
            assert (await store.head(key)).key == key
            assert await listed(store, f"odd/{name}/") == [key]
        assert sorted(await listed(store)) == sorted(f"odd/{name}/{name}" for name in ODD)
        assert await store.list_folders("odd/") == sorted(ODD, key=str.encode)
        for name in ODD:
            await store.delete(f"odd/{name}/{name}")
        assert await listed(store) == []

    @on_store
    async def test_large_and_small_letters_differ(self, store: Store) -> None:
        await store.put("Key", b"large")
        await store.put("key", b"small")
        assert (await store.get("Key"), await store.get("key")) == (b"large", b"small")

    @on_store
    async def test_a_long_key_works(self, store: Store) -> None:
        key = "/".join(["x" * MAX_PART_BYTES, "y" * MAX_PART_BYTES, "é" * (MAX_PART_BYTES // 2)])
        await store.put(key, b"data")
        assert await store.get(key) == b"data"
        assert await listed(store) == [key]

    @on_store
    async def test_hostile_keys_are_refused_by_every_operation(self, store: Store) -> None:
        await store.put("a/b", b"data")
        for name, operation in ALL.items():
            for key in HOSTILE_PREFIXES if name == "list_objects" else HOSTILE:
                await failure(operation(store, key), BadIdentifier, f"{name} of {key!r}")
        assert await listed(store) == ["a/b"]

    @on_store
    async def test_hostile_places_to_list_are_refused(self, store: Store) -> None:
        for prefix in HOSTILE_PREFIXES:
            await failure(store.list_folders(prefix), BadIdentifier, f"list_folders of {prefix!r}")
            await failure(listed(store, after=prefix), BadIdentifier, f"listing after {prefix!r}")
        await failure(store.list_folders("no-slash"), BadIdentifier, "list_folders of no folder")
