"""Failures: each is the core's error for it, and none looks like an answer."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager

import pytest

from rayhist.errors import Denied, StorageError, Unavailable
from rayhist.storage import Store
from rayhist_testkit.contracts.base import run
from rayhist_testkit.contracts.stores import ALL, QUESTIONS, WRITES, Operation, StoreTests, failure, on_store


class Failures(StoreTests):
    @on_store
    async def test_it_says_in_a_line_who_it_is(self, store: Store) -> None:
        """`rayhist doctor` shows it; a store that is nobody says nothing."""
        said = await store.identity()
        assert said.isprintable(), "one line, without what a terminal obeys"
        assert said == said.strip()

    def test_refused_credentials_are_denied_with_a_remedy(self) -> None:
        """Also for questions: "you may not see" is not "there is nothing"."""
        for error in _failures(self.open_denied_store(), ALL, Denied):
            assert error.remedy, error

    def test_a_write_with_credentials_for_reading_is_denied(self) -> None:
        _failures(self.open_read_only_store(), WRITES, Denied)

    def test_reading_needs_no_right_to_write(self) -> None:
        async def body(opening: AbstractAsyncContextManager[Store]) -> None:
            async with opening as store:
                for operation in QUESTIONS.values():
                    await operation(store, "no-such")

        opening = self.open_read_only_store()
        if opening is None:
            pytest.skip("no such store is provided")
        run(body(opening))

    def test_an_outage_is_unavailable(self) -> None:
        """Never an empty listing, and never "does not exist"."""
        _failures(self.open_unreachable_store(), ALL, Unavailable)


def _failures(
    opening: AbstractAsyncContextManager[Store] | None,
    operations: Mapping[str, Operation],
    expected: type[StorageError],
) -> list[StorageError]:
    """Every operation's error; each must be the expected one."""
    if opening is None:
        pytest.skip("no such store is provided")

    async def body() -> list[StorageError]:
        async with opening as store:
            return [
                await failure(operation(store, "some/key"), expected, name)
                for name, operation in operations.items()
            ]

    return run(body())
