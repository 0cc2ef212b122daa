"""How a storage contract gets at its store, and the operations it tries on every store alike."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from rayhist.storage import Ability, ObjectInfo, Store
from rayhist_testkit.contracts.base import Contract, run

_ErrorT = TypeVar("_ErrorT", bound=Exception)
_SelfT = TypeVar("_SelfT", bound="StoreTests")

Operation = Callable[[Store, str], Coroutine[Any, Any, object]]
"""An operation on the object (or below the folder) of that name."""


class StoreTests(Contract):
    """Base of the parts of `StorageContract`: where the store comes from."""

    def open_store(self) -> AbstractAsyncContextManager[Store]:
        """An async context manager around an empty store; called once per test."""
        raise NotImplementedError("override open_store")

    def open_denied_store(self) -> AbstractAsyncContextManager[Store] | None:
        """A store whose credentials are refused whatever it does.  `None` skips those tests."""
        return None

    def open_read_only_store(self) -> AbstractAsyncContextManager[Store] | None:
        """A store whose credentials may read but not write.  `None` skips those tests."""
        return None

    def open_unreachable_store(self) -> AbstractAsyncContextManager[Store] | None:
        """A store that does not answer.  `None` skips those tests."""
        return None


def on_store(test: Callable[[_SelfT, Store], Awaitable[None]]) -> Callable[[_SelfT], None]:
    """Make a test method of a coroutine that takes an empty store."""

    def method(self: _SelfT) -> None:
        async def inside() -> None:
            async with self.open_store() as store:
                await test(self, store)

        run(inside())

    return named_like(test, method)


def named_like(test: Callable[..., object], method: Callable[..., None]) -> Callable[..., None]:
    """Give the method the test's name and docstring, but not its parameters: pytest would ask for them."""
    functools.update_wrapper(method, test)
    del method.__wrapped__  # type: ignore[attr-defined]
    return method


def needs(store: Store, ability: Ability) -> None:
    """Skip the test if the store does not claim the ability."""
    if ability not in store.abilities:
        pytest.skip(f"the store does not claim {ability.value!r}")


async def failure(attempt: Awaitable[object], expected: type[_ErrorT], what: str) -> _ErrorT:
    """The error of an attempt, which has to be the expected one; `what` says what was attempted."""
    try:
        await attempt
    except expected as error:
        return error
    except Exception as error:
        raise AssertionError(f"{what} raised {error!r}, not {expected.__name__}") from error
    raise AssertionError(f"{what} did not fail")


async def listed(store: Store, prefix: str = "", *, after: str = "") -> list[str]:
    return [info.key async for info in store.list_objects(prefix, after=after)]


async def infos(store: Store, prefix: str = "") -> dict[str, ObjectInfo]:
    return {info.key: info async for info in store.list_objects(prefix)}


async def _stream(store: Store, key: str) -> bytes:
    return b"".join([piece async for piece in store.stream(key)])


async def _put_file(store: Store, key: str) -> None:
    await store.put_file(key, Path(__file__))


READS: dict[str, Operation] = {
    "get": lambda store, key: store.get(key),
    "get a range": lambda store, key: store.get(key, start=1, end=2),
    "get an empty range": lambda store, key: store.get(key, start=1, end=1),
    "head": lambda store, key: store.head(key),
    "stream": _stream,
}
QUESTIONS: dict[str, Operation] = {
    "exists": lambda store, key: store.exists(key),
    "list_objects": listed,
    "list_folders": lambda store, key: store.list_folders(f"{key}/"),
}
WRITES: dict[str, Operation] = {
    "put": lambda store, key: store.put(key, b"data"),
    "put if absent": lambda store, key: store.put(key, b"data", if_absent=True),
    "put_file": _put_file,
    "delete": lambda store, key: store.delete(key),
    "delete_many": lambda store, key: store.delete_many([key]),
}
ALL = READS | QUESTIONS | WRITES
