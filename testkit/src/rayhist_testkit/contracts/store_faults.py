"""What a store over HTTP makes of a server, or a way to it, that fails: tried through a proxy that spoils.

Every failure is one of the core's errors, none is repeated for ever or without a pause, and none passes for
an answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, ClassVar

import pytest

from rayhist.errors import ConfigError, Denied, Exists, NotFound, RayhistError, Unavailable
from rayhist.storage import Ability, Store
from rayhist_testkit.contracts.base import Contract, run
from rayhist_testkit.contracts.stores import ALL, READS, WRITES, Operation, failure, listed
from rayhist_testkit.servers.http import HOST
from rayhist_testkit.servers.scripted_proxy import Fault, ScriptedProxy, unanswered

_RETRIES = 2
_QUICK: dict[str, Any] = {
    "max_retries": _RETRIES,
    "retry_timeout_s": 20.0,
    "read_timeout_s": 0.5,
    "connect_timeout_s": 1.0,
}
_SOME = {name: ALL[name] for name in ("get", "head", "list_objects", "list_folders", "put", "delete")}
"""Where waiting for the end of patience is what takes the time."""
_MOST_REQUESTS = 3 * (_RETRIES + 1)
"""Of one operation: itself, the question whether its bucket is there, and the renewal of credentials."""
_LARGE = bytes(range(256)) * 4096
_NO_NAME = f"http://{'x' * 70}.invalid"
"""No name server is asked for it: a name's part has 63 letters at most."""

_CUTS = (
    Fault(cut_after=1000, ending="close"),
    Fault(cut_after=1000, ending="reset"),
    Fault(cut_after=1000, ending="silence"),
)
_NO_ANSWER = (Fault(ending="close"), Fault(ending="reset"), Fault(ending="silence"))


class FaultContract(Contract):
    """Override `port` and `open_at`, and say how the cloud words what only it says.

    The options are those of this project's plugins; translate them if yours have other names.
    """

    bucket_missing: ClassVar[str] = ""
    """Body of the answer 404 that means the bucket; empty: the cloud does not say."""
    expired: ClassVar[tuple[int, str]] = (401, "")
    """Status and body of the answer to credentials that are too old."""

    def port(self) -> int:
        """Where the real server listens, on this machine, without TLS."""
        raise NotImplementedError("override port")

    def open_at(self, endpoint: str, options: dict[str, Any]) -> AbstractAsyncContextManager[Store]:
        """An empty store at that endpoint, `http://host:port`, with these options laid over its own."""
        raise NotImplementedError("override open_at")

    def _on_store(self, body: Callable[[Store], Any], **changes: Any) -> None:
        """Run `body` on a store behind the proxy in which `some/key` is, and a large object."""

        async def inside() -> None:
            async with self.open_at(self.proxy.url, _QUICK | changes) as store:
                await store.put("some/key", b"data")
                await store.put("large", _LARGE)
                await body(store)

        with ScriptedProxy(self.port()) as self.proxy:
            run(inside())

    @pytest.mark.parametrize("status", [401, 403])
    def test_a_refusal_is_denied_with_a_remedy(self, status: int) -> None:
        async def body(store: Store) -> None:
            self.proxy.spoil_all(Fault(status=status))
            for error in await self._errors(store, ALL, Denied):
                assert error.remedy

        self._on_store(body)

    @pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
    def test_a_server_that_cannot_is_unavailable(self, status: int) -> None:
        async def body(store: Store) -> None:
            self.proxy.spoil_all(Fault(status=status))
            await self._errors(store, ALL, Unavailable)

        self._on_store(body, max_retries=1)

    def test_a_key_that_is_not_there_is_no_missing_bucket(self) -> None:
        async def body(store: Store) -> None:
            self.proxy.spoil()
            for name, operation in READS.items():
                await failure(operation(store, "missing"), NotFound, name)
            if not self.bucket_missing:
                pytest.skip("the cloud does not say which of the two is missing")
            self.proxy.spoil_all(Fault(status=404, body=self.bucket_missing))
            async with self.open_at(self.proxy.url, _QUICK) as another:
                for error in await self._errors(another, ALL, ConfigError):
                    assert error.remedy

        self._on_store(body)

    @pytest.mark.parametrize("status", [409, 412])
    def test_a_conflict_is_exists_for_a_put_if_absent_only(self, status: int) -> None:
        async def body(store: Store) -> None:
            self.proxy.spoil_all(Fault(status=status))
            others = {name: one for name, one in WRITES.items() if name != "put if absent"}
            await self._errors(store, others, Unavailable)
            if Ability.PUT_IF_ABSENT in store.abilities:
                self.proxy.spoil_all(Fault(status=status))
                await failure(store.put("other", b"", if_absent=True), Exists, "put if absent")

        self._on_store(body, max_retries=1)

    @pytest.mark.parametrize("status", [429, 500, 503])
    def test_a_failure_that_passes_is_not_seen(self, status: int) -> None:
        async def body(store: Store) -> None:
            for name, operation in ALL.items():
                key = "new" if name == "put if absent" else "some/key"
                self.proxy.spoil(Fault(status=status))
                await operation(store, key)
                assert len(self.proxy.signed) > 1, name
                self.proxy.spoil()
                await store.put("some/key", b"data")
                await store.delete("new")

        self._on_store(body)

    @pytest.mark.parametrize("status", [429, 503])
    def test_a_pause_that_the_server_asks_for_is_kept(self, status: int) -> None:
        """No request with credentials comes within the pause."""

        async def body(store: Store) -> None:
            self.proxy.spoil(Fault(status=status, headers=("Retry-After: 1",)))
            assert await store.get("some/key") == b"data"
            first, *_, last = self.proxy.signed
            assert last.at - first.at >= 1

        self._on_store(body)

    def test_a_pause_beyond_all_patience_is_passed_on(self) -> None:
        async def body(store: Store) -> None:
            self.proxy.spoil_all(Fault(status=503, headers=("Retry-After: 120",)))
            error = await failure(store.get("some/key"), Unavailable, "get")
            assert 60 < (error.retry_after_s or 0) <= 120
            assert len(self.proxy.signed) == 1

        self._on_store(body)

    @pytest.mark.parametrize("fault", _CUTS, ids=lambda fault: fault.ending)
    def test_a_body_that_ends_early_is_read_on_or_an_error(self, fault: Fault) -> None:
        """Truncated, reset in the middle, or silent from there on: never a short answer."""

        async def body(store: Store) -> None:
            for read in (store.get, _streamed(store)):
                self.proxy.spoil(fault)
                assert await read("large") == _LARGE
                assert len(self.proxy.signed) == 2
                self.proxy.spoil_all(Fault(cut_after=0, ending=fault.ending))
                await failure(read("large"), Unavailable, "read")
                assert len(self.proxy.signed) <= _MOST_REQUESTS

        self._on_store(body, max_retries=1)

    @pytest.mark.parametrize("fault", _CUTS, ids=lambda fault: fault.ending)
    def test_a_listing_that_ends_early_is_read_on_or_an_error(self, fault: Fault) -> None:
        async def body(store: Store) -> None:
            for number in range(20):
                await store.put(f"many/{number:02}", b"")
            self.proxy.spoil(Fault(cut_after=200, ending=fault.ending))
            assert len(await listed(store, "many/")) == 20
            self.proxy.spoil_all(Fault(cut_after=200, ending=fault.ending))
            await self._errors(store, {"list_objects": listed}, Unavailable)

        self._on_store(body, max_retries=1)

    @pytest.mark.parametrize("fault", _NO_ANSWER, ids=lambda fault: fault.ending)
    def test_no_answer_is_unavailable(self, fault: Fault) -> None:
        async def body(store: Store) -> None:
            self.proxy.spoil(fault)
            assert await store.get("some/key") == b"data"
            self.proxy.spoil_all(fault)
            await self._errors(store, _SOME if fault.ending == "silence" else ALL, Unavailable)

        self._on_store(body, max_retries=1, read_timeout_s=0.3)

    def test_a_connection_that_never_stands_is_unavailable(self) -> None:
        with unanswered() as port:
            self._unreachable(f"http://{HOST}:{port}")

    def test_a_name_that_nobody_knows_is_unavailable(self) -> None:
        self._unreachable(_NO_NAME)

    def _unreachable(self, endpoint: str) -> None:
        async def inside() -> None:
            async with self.open_at(endpoint, _QUICK | {"max_retries": 0, "connect_timeout_s": 0.3}) as store:
                for name, operation in ALL.items():
                    error = await failure(operation(store, "some/key"), Unavailable, name)
                    assert error.remedy, error

        run(inside())

    def test_credentials_that_end_are_renewed_once(self) -> None:
        status, text = self.expired

        async def body(store: Store) -> None:
            fault = Fault(status=status, body=text)
            self.proxy.spoil(fault)
            assert await store.get("some/key") == b"data"
            assert len(self.proxy.signed) == 2
            self.proxy.spoil_all(fault)
            await failure(store.get("some/key"), Denied, "get")
            assert len(self.proxy.signed) <= 2

        self._on_store(body)

    def test_many_at_once_do_not_multiply_their_failures(self) -> None:
        async def body(store: Store) -> None:
            self.proxy.spoil_all(Fault(status=503))
            results = await asyncio.gather(
                *(store.get("some/key") for _ in range(16)), return_exceptions=True
            )
            assert all(isinstance(result, Unavailable) for result in results)
            assert len(self.proxy.signed) <= 16 * (_RETRIES + 1)

        self._on_store(body)

    async def _errors(
        self, store: Store, operations: dict[str, Operation], expected: type[RayhistError]
    ) -> list[RayhistError]:
        """The error of each operation, none of which asks without end."""
        found: list[RayhistError] = []
        for name, operation in operations.items():
            before = len(self.proxy.requests)
            found.append(await failure(operation(store, "some/key"), expected, name))
            assert len(self.proxy.requests) - before <= 2 * _MOST_REQUESTS, f"{name} asked without end"
        return found


def _streamed(store: Store) -> Callable[[str], Any]:
    async def read(key: str) -> bytes:
        return b"".join([piece async for piece in store.stream(key, chunk_bytes=100_000)])

    return read
