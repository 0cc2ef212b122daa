"""Servers that do not do as they should: each gives the core's error, and none an empty answer."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from rayhist.errors import ConfigError, Denied, StorageError, Unavailable
from rayhist.plugins import Plugins, options_of
from rayhist.storage import Store
from rayhist_testkit.contracts.stores import ALL, failure
from rayhist_testkit.ports import free_ports


def opened(options: dict[str, Any], url: str = "s3://bucket") -> Store:
    kind = Plugins.discover().storage("s3")
    return kind.open(url, options_of(kind, options, "$.storage.options"))


def response(status: str, body: str = "", *headers: str, length: int | None = None) -> bytes:
    size = len(body.encode()) if length is None else length
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {size}", "Connection: close", *headers]
    return ("\r\n".join([*lines, "", ""]) + body).encode()


def error_body(code: str) -> str:
    return f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>because of {code}</Message></Error>'


OBJECT = ('ETag: "e"', "Last-Modified: Mon, 30 Nov 2026 10:00:00 GMT")
LISTING = """<?xml version="1.0"?><ListBucketResult><IsTruncated>false</IsTruncated>{}</ListBucketResult>"""
ENTRY = """<Contents><Key>{}</Key><Size>{}</Size><LastModified>2026-11-30T10:00:00.000Z</LastModified>
<ETag>"e"</ETag></Contents>"""


async def errors_of(serving: Any, answer: bytes, expected: type[StorageError | ConfigError]) -> list[Any]:
    async def respond(_line: str, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)

    async with serving(respond) as options:
        store = opened(options)
        return [await failure(do(store, "some/key"), expected, name) for name, do in ALL.items()]


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        ("503 Slow Down", "SlowDown", Unavailable),
        ("500 Internal Server Error", "InternalError", Unavailable),
        ("429 Too Many Requests", "TooManyRequests", Unavailable),
        ("403 Forbidden", "RequestTimeTooSkewed", Denied),
        ("403 Forbidden", "InvalidAccessKeyId", Denied),
        ("400 Bad Request", "ExpiredToken", Denied),
        ("401 Unauthorized", "Strange", Denied),
        ("404 Not Found", "NoSuchBucket", ConfigError),
        ("400 Bad Request", "InvalidBucketName", ConfigError),
        ("501 Not Implemented", "NotImplemented", ConfigError),
    ],
)
def test_an_error_of_the_server_has_its_class_in_every_operation(
    serving: Any, status: str, code: str, expected: type[StorageError | ConfigError]
) -> None:
    """HEAD's answer has no body, and so only its status can tell there."""

    async def respond(line: str, writer: asyncio.StreamWriter) -> None:
        writer.write(response(status, "" if line.startswith("HEAD") else error_body(code)))

    async def body() -> None:
        async with serving(respond) as options:
            store = opened(options)
            for name, do in ALL.items():
                if name in {"head", "exists", "get an empty range"} and status.startswith(("400", "501")):
                    continue
                error = await failure(do(store, "some/key"), expected, name)
                assert error.remedy or expected is Unavailable, name
                if name not in {"head", "exists", "get an empty range"} or "NoSuch" in code:
                    assert f"because of {code}" in str(error), name

    asyncio.run(body())


def test_what_is_no_s3_is_an_error_for_every_question(serving: Any) -> None:
    """A proxy's login page with status 200 must not pass for an empty bucket."""

    async def respond(_line: str, writer: asyncio.StreamWriter) -> None:
        writer.write(response("200 OK", "<html>Please log in</html>", "Content-Type: text/html"))

    async def body() -> None:
        async with serving(respond) as options:
            for name, do in ALL.items():
                await failure(do(opened(options), "some/key"), Unavailable, name)

    asyncio.run(body())


def test_a_dropped_connection_is_unavailable_in_every_operation(serving: Any) -> None:
    asyncio.run(errors_of(serving, b"", Unavailable))


def test_a_failure_that_passes_is_retried_and_one_that_stays_is_not_for_ever(serving: Any) -> None:
    asked = []

    async def respond(line: str, writer: asyncio.StreamWriter) -> None:
        if line.startswith("GET"):  # a HEAD asks whether it wants a pause
            asked.append(line)
        failing = len(asked) <= 2 or "stays" in line
        writer.write(response("503 Slow Down" if failing else "200 OK", "data", *OBJECT))

    async def body() -> None:
        async with serving(respond) as options:
            store = opened(options | {"max_retries": 2})
            assert await store.get("passes") == b"data"
            assert len(asked) == 3
            await failure(store.get("stays"), Unavailable, "get")
            assert len(asked) == 6

    asyncio.run(body())


def test_a_truncated_body_is_unavailable_not_short(serving: Any) -> None:
    answer = response("200 OK", "only a part", *OBJECT, length=1000)

    async def respond(_line: str, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)

    async def body() -> None:
        async with serving(respond) as options:
            store = opened(options)
            await failure(store.get("key"), Unavailable, "get")
            await failure(ALL["stream"](store, "key"), Unavailable, "stream")

    asyncio.run(body())


def test_a_silent_server_is_unavailable_after_the_read_timeout(serving: Any) -> None:
    async def respond(_line: str, _writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(3600)

    async def body() -> None:
        async with serving(respond) as options:
            store = opened(options | {"read_timeout_s": 0.2})
            await failure(store.get("key"), Unavailable, "get")
            await failure(ALL["list_objects"](store, "key"), Unavailable, "list")

    asyncio.run(body())


def test_a_slow_body_may_take_longer_than_the_read_timeout(serving: Any) -> None:
    """The time-out is for a silence, not for the whole."""

    async def respond(_line: str, writer: asyncio.StreamWriter) -> None:
        writer.write(response("200 OK", "", *OBJECT, length=8))
        for byte in b"all here":
            await asyncio.sleep(0.2)
            writer.write(bytes([byte]))
            await writer.drain()

    async def body() -> None:
        async with serving(respond) as options:
            store = opened(options | {"read_timeout_s": 1})
            assert await store.get("key") == b"all here"

    asyncio.run(body())


def test_placeholders_of_folders_are_left_out(serving: Any) -> None:
    """KubeRay's collector and many tools put an empty `folder/`; what is below it shows that it is one."""
    entries = [("a/", 0), ("a/b", 0), ("a/c/", 0), ("a/c/d", 3), ("a/cd", 0)]
    answer = response("200 OK", LISTING.format("".join(ENTRY.format(*entry) for entry in entries)))

    async def respond(_line: str, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)

    async def body() -> None:
        async with serving(respond) as options:
            found = [info.key async for info in opened(options).list_objects()]
            assert found == ["a/b", "a/c/d", "a/cd"]

    asyncio.run(body())


def test_a_foreign_key_that_no_store_can_hold_is_named(serving: Any) -> None:
    answer = response("200 OK", LISTING.format(ENTRY.format("a//b", 3)))
    [error] = [
        error for error in asyncio.run(_list_errors(serving, answer)) if isinstance(error, StorageError)
    ]
    assert "a//b" in str(error)


async def _list_errors(serving: Any, answer: bytes) -> list[Any]:
    async def respond(_line: str, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)

    async with serving(respond) as options:
        return [await failure(ALL["list_objects"](opened(options), "a"), StorageError, "list")]


def test_an_endpoint_gets_the_bucket_in_its_name_without_path_style(serving: Any) -> None:
    asked = []

    async def respond(line: str, writer: asyncio.StreamWriter) -> None:
        asked.append(line)
        writer.write(response("200 OK", "body", *OBJECT))

    async def body() -> None:
        async with serving(respond) as options:
            assert await opened(options).get("a key") == b"body"

    asyncio.run(body())
    assert asked == ["GET /bucket/a%20key HTTP/1.1"]


def test_a_server_without_bulk_deletion_is_asked_one_by_one(serving: Any) -> None:
    asked = []

    async def respond(line: str, writer: asyncio.StreamWriter) -> None:
        asked.append(line)
        writer.write(response("404 Not Found", error_body("NoSuchKey")))

    async def body() -> None:
        async with serving(respond) as options:
            await opened(options | {"bulk_delete": False}).delete_many(["a", "b"])

    asyncio.run(body())
    assert {"DELETE /bucket/a HTTP/1.1", "DELETE /bucket/b HTTP/1.1"} <= set(asked)


def test_a_missing_metadata_service_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", f"http://127.0.0.1:{free_ports(1)[0]}")
    store = opened({"max_retries": 0, "endpoint": "http://127.0.0.1:1", "allow_http": True})
    error = asyncio.run(failure(store.get("key"), Unavailable, "get"))
    assert "access_key_id" in (error.remedy or "")


def test_a_server_that_asks_for_a_pause_gets_it(serving: Any) -> None:
    """Its clock says when the request came again: not before the second it had asked for."""
    came: list[tuple[str, float]] = []

    async def respond(line: str, writer: asyncio.StreamWriter) -> None:
        came.append((line.partition(" ")[0], time.monotonic()))
        if sum(method == "GET" for method, _ in came) == 1:
            writer.write(response("503 Slow Down", "", "Retry-After: 1"))
        else:
            writer.write(response("200 OK", "data", *OBJECT))

    async def body() -> None:
        async with serving(respond) as options:
            assert await opened(options | {"max_retries": 1}).get("key") == b"data"

    asyncio.run(body())
    assert [method for method, _ in came] == ["GET", "HEAD", "GET"]
    assert came[2][1] - came[1][1] >= 1


def test_a_pause_that_is_too_long_ends_the_request_with_it(serving: Any) -> None:
    asked = []

    async def respond(line: str, writer: asyncio.StreamWriter) -> None:
        asked.append(line)
        writer.write(response("429 Too Many Requests", "", "Retry-After: 120"))

    async def body() -> None:
        async with serving(respond) as options:
            store = opened(options | {"max_retries": 3})
            error = await failure(store.get("key"), Unavailable, "get")
            assert 100 < error.retry_after_s <= 120

    asyncio.run(body())
    assert len(asked) == 2


def test_refused_keys_are_read_anew_once(serving: Any, tmp_path: Path) -> None:
    """Keys that were rotated while the process runs; and a refusal for another reason is not repeated."""
    key = tmp_path / "key"
    key.write_text("before")
    heads = []

    async def respond(head: str, writer: asyncio.StreamWriter) -> None:
        heads.append(head)
        if "Credential=after/" in head and "denied" not in head:
            writer.write(response("200 OK", "data", *OBJECT))
        else:
            key.write_text("after")
            writer.write(response("403 Forbidden", error_body("InvalidAccessKeyId")))

    async def body() -> None:
        async with serving(respond, whole_head=True) as options:
            store = opened(options | {"access_key_id": {"file": str(key)}})
            assert await store.get("key") == b"data"
            assert len(heads) == 2
            await failure(store.get("denied"), Denied, "get")
            assert len(heads) == 3

    asyncio.run(body())
