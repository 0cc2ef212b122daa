"""What all contracts share: how their coroutines run, and that none of their tests is quietly replaced."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

import pytest

LIMIT_S = 120.0
"""Seconds after which a contract test that waits for the plugin gives up."""

_PACKAGE = __name__.rpartition(".")[0]
_T = TypeVar("_T")


def run(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Run a test's coroutine in an event loop of its own, for `LIMIT_S` seconds at most."""

    async def limited() -> _T:
        async with asyncio.timeout(LIMIT_S):
            return await coroutine

    return asyncio.run(limited())


class Contract:
    """Base of the contracts.  Derive from one of them in a class whose name begins with `Test`."""

    def test_no_contract_test_is_replaced_without_a_reason(self) -> None:
        """A test that a plugin cannot pass is overridden with `@pytest.mark.xfail(reason=...)`, visibly."""
        replaced = [name for name, value in _own(type(self)) if not _explains(value)]
        assert not replaced, f"overridden without @pytest.mark.xfail(reason=...): {', '.join(replaced)}"


def _own(tested: type) -> Iterator[tuple[str, object]]:
    """What the classes outside the kit put in the place of the contract's tests."""
    contract = {name for base in tested.__mro__ if _of_kit(base) for name in vars(base)}
    for base in tested.__mro__:
        if not _of_kit(base):
            for name, value in vars(base).items():
                if name.startswith("test_") and name in contract:
                    yield name, value


def _of_kit(tested: type) -> bool:
    return tested.__module__.startswith(f"{_PACKAGE}.")


def _explains(value: object) -> bool:
    marks: list[pytest.Mark] = getattr(value, "pytestmark", [])
    return any(mark.name == "xfail" and mark.kwargs.get("reason") for mark in marks)
