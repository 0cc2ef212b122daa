"""`rayhist doctor`: each failure has its remedy, and nothing is changed."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from rayhist import layout
from rayhist.cli import main
from rayhist.doctor import Finding, Role, State, examine
from rayhist.errors import ConfigError, Denied, NotFound, RayhistError, Unavailable
from rayhist.ids import Cluster, ClusterKind, Session
from rayhist.memory import MemoryStore
from rayhist.storage import ObjectInfo, Prefixed, Store
from rayhist_testkit.faults import WrappedStore

Output = pytest.CaptureFixture[str]
MARKER = layout.key(
    layout.Marker(
        Session(Cluster(ClusterKind.RAYCLUSTER, "ns", "ray"), "session_2026-01-02_03-04-05_678901_1")
    )
)


class Failing(WrappedStore):
    """Some operations raise; all are counted."""

    def __init__(self, errors: dict[str, RayhistError], store: Store | None = None) -> None:
        super().__init__(store or MemoryStore())
        self.location = "memory://archive"
        self.errors = errors
        self.calls: list[str] = []

    async def before(self, operation: str, key: str) -> None:
        self.calls.append(operation)
        if operation in self.errors:
            raise self.errors[operation]

    async def identity(self) -> str:
        await self.before("identity", "")
        return "somebody"


class Shifted(WrappedStore):
    """A store whose clock is ahead by so much."""

    def __init__(self, by: timedelta) -> None:
        super().__init__(MemoryStore())
        self.by = by

    async def head(self, key: str) -> ObjectInfo:
        info = await super().head(key)
        return msgspec.structs.replace(info, modified=datetime.now(UTC) + self.by)


class Mangling(WrappedStore):
    async def get(self, key: str, *, start: int = 0, end: int | None = None) -> bytes:
        return (await super().get(key))[:-1] + b"?"


def examined(
    store: Store, role: Role = Role.COLLECTOR, environment: dict[str, str] | None = None, limit_s: float = 30
) -> dict[str, Finding]:
    found: list[Finding] = []
    asyncio.run(
        examine(store, role, found.append, environment=environment or {}, sample_bytes=4096, limit_s=limit_s)
    )
    assert all(finding.remedy for finding in found if finding.state is State.FAILED), found
    return {finding.check: finding for finding in found}


def keys(store: Store) -> list[str]:
    async def listed() -> list[str]:
        return [info.key async for info in store.list_objects()]

    return asyncio.run(listed())


def put(store: Store, key: str, data: bytes) -> None:
    asyncio.run(store.put(key, data))


def test_a_good_archive_is_tried_as_the_collector_and_left_as_it_was() -> None:
    store = MemoryStore()
    put(store, "kept", b"data")
    found = examined(Prefixed(store, "root"))
    assert {finding.state for finding in found.values()} == {State.OK}
    assert list(found) == ["proxy", "identity", "list", "write", "read", "clock", "latency", "delete"]
    assert keys(store) == ["kept"]


def test_the_server_writes_nothing() -> None:
    store = Failing({})
    put(store, MARKER, b"{}")
    store.calls.clear()
    found = examined(store, Role.SERVER)
    assert "write" not in found
    assert not {"put", "put_file", "delete"} & set(store.calls)
    assert found["list"].text.startswith("1 sessions")
    assert MARKER in found["read"].text


@pytest.mark.parametrize(
    ("operation", "check"),
    [("list_objects", "list"), ("put", "write"), ("get", "read"), ("head", "latency")],
)
def test_a_missing_right_is_named_and_hides_no_other_check(operation: str, check: str) -> None:
    store = Failing({operation: Denied("AccessDenied", remedy="the plugin's words")})
    found = examined(store)
    assert found[check].state is State.FAILED
    assert "the plugin's words" in found[check].remedy
    assert "below memory://archive" in found[check].remedy
    failed = {name for name, finding in found.items() if finding.state is State.FAILED}
    assert failed <= {check, "clock", "read"}
    assert keys(store._store) == []


def test_who_may_not_delete_is_warned_of_what_stays() -> None:
    store = Failing({"delete": Denied("AccessDenied")})
    found = examined(store)
    assert found["delete"].state is State.WARNING
    assert found["left behind"].text in keys(store._store)


@pytest.mark.parametrize(
    "error",
    [
        ConfigError("NoSuchBucket", remedy="create the bucket"),
        Unavailable("connection refused"),
    ],
)
def test_after_a_failure_of_everything_nothing_else_is_tried(error: RayhistError) -> None:
    store = Failing({"list_objects": error})
    found = examined(store)
    assert found["list"].state is State.FAILED
    assert {found[name].state for name in ("write", "read", "delete")} == {State.SKIPPED}
    assert store.calls == ["identity", "list_objects"]


def test_an_identity_that_cannot_be_had_is_said_first() -> None:
    found = examined(Failing({"identity": ConfigError("no token file", remedy="mount it")}))
    assert (found["identity"].state, found["identity"].remedy) == (State.FAILED, "mount it")
    assert found["list"].state is State.SKIPPED


def test_a_proxy_is_suspected_without_its_password() -> None:
    environment = {"HTTPS_PROXY": "http://user:secret@proxy.local:3128", "NO_PROXY": "localhost"}
    found = examined(Failing({"list_objects": Unavailable("gone")}), environment=environment)
    assert "$HTTPS_PROXY=http://proxy.local:3128" in found["proxy"].text
    assert "$NO_PROXY" in found["list"].remedy
    assert not any("secret" in f"{finding.text}{finding.remedy}" for finding in found.values())


def test_a_store_that_never_answers_is_given_up() -> None:
    class Silent(WrappedStore):
        async def before(self, operation: str, key: str) -> None:
            await asyncio.Event().wait()

    found = examined(Silent(MemoryStore()), limit_s=0.05)
    assert "no answer within" in found["list"].text
    assert found["write"].state is State.SKIPPED


@pytest.mark.parametrize(
    ("by", "state", "says"),
    [
        (timedelta(seconds=1), State.OK, "behind"),
        (timedelta(seconds=60), State.WARNING, "behind"),
        (timedelta(hours=-1), State.FAILED, "ahead of"),
    ],
)
def test_a_clock_is_compared_with_the_stores(by: timedelta, state: State, says: str) -> None:
    finding = examined(Shifted(by))["clock"]
    assert finding.state is state
    assert says in finding.text


def test_a_reader_sees_a_slow_clock_by_objects_of_the_future() -> None:
    class Future(MemoryStore):
        async def put(self, key: str, data: bytes, *, if_absent: bool = False) -> ObjectInfo:
            info = await super().put(key, data, if_absent=if_absent)
            later = msgspec.structs.replace(info, modified=datetime.now(UTC) + timedelta(hours=1))
            self._objects[key] = (later, data)
            return later

    store = Future()
    put(store, MARKER, b"{}")
    assert examined(store, Role.SERVER)["clock"].state is State.FAILED


def test_other_bytes_than_were_written_are_a_failure() -> None:
    assert examined(Mangling(MemoryStore()))["read"].state is State.FAILED


def test_a_store_that_has_everything_is_not_believed() -> None:
    class Everything(MemoryStore):
        async def head(self, key: str) -> ObjectInfo:
            return ObjectInfo(key=key, size=0)

    assert examined(Everything(), Role.SERVER)["read"].state is State.FAILED


def test_a_write_that_was_interrupted_leaves_nothing() -> None:
    class Interrupted(MemoryStore):
        async def put(self, key: str, data: bytes, *, if_absent: bool = False) -> ObjectInfo:
            await super().put(key, data, if_absent=if_absent)
            raise asyncio.CancelledError

    store = Interrupted()
    with pytest.raises(asyncio.CancelledError):
        examined(store)
    assert keys(store) == []


def test_a_missing_bucket_has_a_remedy() -> None:
    found = examined(Failing({"list_objects": NotFound("no such bucket")}))
    assert "[storage] url" in found["list"].remedy


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RAYHIST__STORAGE__URL", (tmp_path / "archive").as_uri())
    monkeypatch.delenv("RAYHIST_CONFIG", raising=False)
    return tmp_path / "archive"


def test_the_command_shows_each_finding_on_a_line(archive: Path, capsys: Output) -> None:
    assert main(["doctor", "--as", "collector", "--size", "1"]) == 0
    first, plugin, *_ = capsys.readouterr().out.splitlines()
    assert first == f"{archive.as_uri()}, as the collector"
    assert "storage plugin 'file' of rayhist" in plugin
    assert list(archive.rglob("*")) == []


def test_the_command_fails_with_what_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("RAYHIST__STORAGE__URL", (tmp_path / "file").as_uri())
    monkeypatch.delenv("RAYHIST_CONFIG", raising=False)
    assert main(["doctor", "--json"]) == 1
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (last["check"], last["state"]) == ("open", "failed")
    assert last["remedy"]


def test_a_plugin_that_is_not_installed_is_a_finding(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    monkeypatch.setenv("RAYHIST__STORAGE__URL", "acme://archive")
    monkeypatch.delenv("RAYHIST_CONFIG", raising=False)
    assert main(["doctor"]) == 1
    assert "pip install rayhist-storage-acme" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [["--size", "0"], ["--size", "5000"], ["--limit", "0"], ["--as", "king"]]
)
def test_a_mistake_in_the_call_is_one(arguments: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["doctor", *arguments])
