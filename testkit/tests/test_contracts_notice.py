"""The contracts notice what is wrong: each broken plugin here fails the test that is there for its fault."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest

from rayhist.auth import Authenticator, Principal
from rayhist.errors import Denied, NotFound, Refused, Unavailable
from rayhist.memory import MemoryStore
from rayhist.sink import Sealed, Sink, SinkContext
from rayhist.source import Intake, Source, SourceContext
from rayhist.storage import ObjectInfo, Store
from rayhist_testkit.contracts import (
    AuthContract,
    PluginContract,
    SinkContract,
    SourceContract,
    StorageContract,
)
from rayhist_testkit.faults import FlakyStore, TruncatingStore, WrappedStore


class Unordered(MemoryStore):
    async def list_objects(self, prefix: str = "", *, after: str = "") -> AsyncIterator[ObjectInfo]:
        found = [info async for info in super().list_objects(prefix, after=after)]
        for info in reversed(found):
            yield info


class SegmentPrefix(WrappedStore):
    """As obstore's own listing: a prefix is whole parts of the path."""

    async def list_objects(self, prefix: str = "", *, after: str = "") -> AsyncIterator[ObjectInfo]:
        async for info in super().list_objects(prefix, after=after):
            if not prefix or info.key.startswith(prefix.rstrip("/") + "/"):
                yield info


class OnePage(MemoryStore):
    async def list_objects(self, prefix: str = "", *, after: str = "") -> AsyncIterator[ObjectInfo]:
        count = 0
        async for info in super().list_objects(prefix, after=after):
            count += 1
            if count <= 1000:
                yield info


class Torn(MemoryStore):
    async def put(self, key: str, data: bytes, *, if_absent: bool = False) -> ObjectInfo:
        for end in (len(data) // 2, len(data)):
            info = await super().put(key, data[:end], if_absent=if_absent)
            await asyncio.sleep(0)
        return info


class LateCheck(MemoryStore):
    """Looks first and writes then."""

    async def put(self, key: str, data: bytes, *, if_absent: bool = False) -> ObjectInfo:
        if if_absent and await self.exists(key):
            return await super().put(key, data, if_absent=True)
        await asyncio.sleep(0)
        return await super().put(key, data)


class Forgiving(WrappedStore):
    """Takes an outage for "nothing there"."""

    async def list_objects(self, prefix: str = "", *, after: str = "") -> AsyncIterator[ObjectInfo]:
        try:
            async for info in super().list_objects(prefix, after=after):
                yield info
        except Unavailable:
            return


class ShortRead(WrappedStore):
    async def get(self, key: str, *, start: int = 0, end: int | None = None) -> bytes:
        if start >= (await self.head(key)).size:
            raise NotFound(f"{key}: no such range")
        return await super().get(key, start=start, end=end)


class Trusting(MemoryStore):
    """Checks no key."""

    async def get(self, key: str, *, start: int = 0, end: int | None = None) -> bytes:
        if key not in self._objects:
            raise NotFound(key)
        return self._objects[key][1][start:end]


class SilentDenial(WrappedStore):
    """Says no without saying what to do."""

    async def before(self, operation: str, key: str) -> None:
        raise Denied(f"{operation} {key}: no")


def contract_of(make: Callable[[], Store]) -> StorageContract:
    class Tested(StorageContract):
        @asynccontextmanager
        async def open_store(self) -> AsyncIterator[Store]:
            yield make()

        def open_unreachable_store(self) -> Any:
            return self.open_store()

        def open_denied_store(self) -> Any:
            return self.open_store()

    return Tested()


@pytest.mark.parametrize(
    ("make", "test"),
    [
        (Unordered, "test_keys_are_listed_in_the_order_of_their_bytes"),
        (lambda: SegmentPrefix(MemoryStore()), "test_a_prefix_is_text"),
        (OnePage, "test_2500_objects_are_listed_each_once"),
        (Torn, "test_of_two_that_put_one_whole_object_stays"),
        (Torn, "test_a_cancelled_put_leaves_nothing_torn"),
        (LateCheck, "test_of_sixteen_that_put_if_absent_one_wins"),
        (lambda: Forgiving(FlakyStore(MemoryStore(), every=1)), "test_an_outage_is_unavailable"),
        (lambda: TruncatingStore(MemoryStore(), part="", keep=9), "test_an_object_comes_back_byte_by_byte"),
        (Trusting, "test_hostile_keys_are_refused_by_every_operation"),
        (lambda: SilentDenial(MemoryStore()), "test_refused_credentials_are_denied_with_a_remedy"),
    ],
)
def test_a_broken_store_fails(make: Callable[[], Store], test: str) -> None:
    with pytest.raises(AssertionError):
        getattr(contract_of(make), test)()


def test_a_store_that_fails_beyond_the_end_fails() -> None:
    with pytest.raises(NotFound):
        contract_of(lambda: ShortRead(MemoryStore())).test_a_range_beyond_the_object_is_empty()


def test_an_outage_as_it_should_be_passes() -> None:
    contract_of(lambda: FlakyStore(MemoryStore(), every=1)).test_an_outage_is_unavailable()


class Quiet(Source):
    async def run(self, intake: Intake) -> None:
        await asyncio.Event().wait()


class Ending(Source):
    async def run(self, intake: Intake) -> None:
        return


class GivesUp(Source):
    """Fails when the disk is full."""

    async def run(self, intake: Intake) -> None:
        while not await intake.events([b"{}"]):
            await asyncio.sleep(0.01)
        await asyncio.Event().wait()


class Retries(Source):
    async def run(self, intake: Intake) -> None:
        while True:
            try:
                await intake.events([b"{}"])
            except Unavailable:
                intake.lost("patience", reason="full")
            await asyncio.sleep(0.01)


def source_contract_of(source: type[Source]) -> SourceContract:
    class Tested(SourceContract):
        def open_source(self, context: SourceContext) -> Source:
            return source()

        async def happen(self, context: SourceContext) -> None:
            """The sources here do something by themselves."""

    return Tested()


def test_a_source_that_ends_by_itself_fails(tmp_path: Path) -> None:
    source_contract_of(Quiet).test_it_waits_for_ray_and_stops_when_cancelled(tmp_path)
    with pytest.raises(AssertionError, match="ended by itself"):
        source_contract_of(Ending).test_it_waits_for_ray_and_stops_when_cancelled(tmp_path)


def test_a_source_that_cannot_wait_for_the_disk_fails(tmp_path: Path) -> None:
    source_contract_of(Retries).test_what_happens_while_the_disk_is_full_is_recorded_later(tmp_path)
    with pytest.raises((AssertionError, Unavailable)):
        source_contract_of(GivesUp).test_what_happens_while_the_disk_is_full_is_recorded_later(tmp_path)


def test_a_source_that_records_passes(tmp_path: Path) -> None:
    source_contract_of(Retries).test_what_happens_is_recorded(tmp_path)


class Archiving(Sink):
    def __init__(self, context: SinkContext) -> None:
        self.store = context.store

    async def deliver(self, sealed: Sealed) -> None:
        await self.store.put_file(sealed.key, sealed.path)


class Later(Archiving):
    """Returns before the file is durable."""

    async def deliver(self, sealed: Sealed) -> None:
        self.promised = sealed


class Once(Archiving):
    async def deliver(self, sealed: Sealed) -> None:
        data = await asyncio.to_thread(sealed.path.read_bytes)
        await self.store.put(sealed.key, data, if_absent=True)


class Hopeful(Archiving):
    async def deliver(self, sealed: Sealed) -> None:
        try:
            await super().deliver(sealed)
        except Unavailable:
            return


def sink_contract_of(sink: type[Archiving]) -> SinkContract:
    class Tested(SinkContract):
        def open_sink(self, context: SinkContext) -> Sink:
            return sink(context)

        def broken_context(self) -> SinkContext:
            context = self.context()
            return SinkContext(context.cluster, FlakyStore(context.store, every=1), context.clock)

    return Tested()


@pytest.mark.parametrize(
    "test",
    [
        "test_a_delivered_file_is_durable",
        "test_delivering_twice_is_harmless",
        "test_a_cancelled_delivery_can_be_repeated",
        "test_an_outage_is_unavailable",
        "test_a_large_file_is_delivered",
    ],
)
def test_a_good_sink_passes(tmp_path: Path, test: str) -> None:
    getattr(sink_contract_of(Archiving), test)(tmp_path)


@pytest.mark.parametrize(
    ("sink", "test"),
    [
        (Later, "test_a_delivered_file_is_durable"),
        (Once, "test_delivering_twice_is_harmless"),
        (Hopeful, "test_an_outage_is_unavailable"),
    ],
)
def test_a_broken_sink_fails(tmp_path: Path, sink: type[Archiving], test: str) -> None:
    with pytest.raises(Exception):  # noqa: B017 - what a broken one raises is its own affair
        getattr(sink_contract_of(sink), test)(tmp_path)


class Password(Authenticator):
    mode = "token"

    async def authenticate(self, headers: Any) -> Principal:
        if headers.get("authorization") == "Bearer good":
            return Principal("somebody")
        raise Refused("no", authenticated="authorization" in headers)


class Crashing(Password):
    async def authenticate(self, headers: Any) -> Principal:
        headers.get("authorization", "").encode("ascii")
        return await super().authenticate(headers)


class Open(Password):
    async def authenticate(self, headers: Any) -> Principal:
        return Principal("anybody")


def auth_contract_of(authenticator: type[Authenticator]) -> AuthContract:
    class Tested(AuthContract):
        good_headers: ClassVar = [{"authorization": "Bearer good"}]
        bad_headers: ClassVar = [{"authorization": "Bearer bad"}]

        def open_authenticator(self) -> Authenticator:
            return authenticator()

    return Tested()


def test_a_good_way_to_log_in_passes() -> None:
    contract = auth_contract_of(Password)
    for name in dir(contract):
        if name.startswith("test_"):
            getattr(contract, name)()


@pytest.mark.parametrize(
    ("authenticator", "test"),
    [
        (Open, "test_a_wrong_credential_is_refused"),
        (Open, "test_no_credential_is_a_401"),
        (Open, "test_strange_headers_are_refused_and_nothing_else"),
        (Crashing, "test_strange_headers_are_refused_and_nothing_else"),
    ],
)
def test_a_broken_way_to_log_in_fails(authenticator: type[Authenticator], test: str) -> None:
    with pytest.raises(AssertionError):
        getattr(auth_contract_of(authenticator), test)()


def test_an_overridden_test_is_noticed_unless_it_says_why() -> None:
    class Silent(StorageContract):
        def test_a_prefix_is_text(self) -> None:
            pass

    class Removed(StorageContract):
        test_a_prefix_is_text = None  # type: ignore[assignment]

    class Explained(StorageContract):
        @pytest.mark.xfail(reason="a known difference")
        def test_a_prefix_is_text(self) -> None:
            super().test_a_prefix_is_text()

        def test_something_of_our_own(self) -> None:
            pass

    class Heir(Silent):
        pass

    for weakened in (Silent, Removed, Heir):
        with pytest.raises(AssertionError, match="test_a_prefix_is_text"):
            weakened().test_no_contract_test_is_replaced_without_a_reason()
    Explained().test_no_contract_test_is_replaced_without_a_reason()


def test_a_plugin_that_is_not_installed_is_named() -> None:
    class Missing(PluginContract):
        role, name = "storage", "no-such"

    with pytest.raises(AssertionError, match=r"no entry point 'no-such' in the group 'rayhist\.storage'"):
        Missing().test_is_found_by_its_role_and_name()
