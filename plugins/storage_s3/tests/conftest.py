"""A server that answers what a test tells it to: for what a good server cannot be made to do."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

Answer = Callable[[str, asyncio.StreamWriter], Awaitable[None]]
Serving = Callable[..., AbstractAsyncContextManager[dict[str, Any]]]


@pytest.fixture
def serving() -> Serving:
    """`async with serving(answer) as options`: options of the `s3` plugin that lead to the answers.

    `answer` is given each request's first line, or its whole head, and writes the whole response.
    """
    return _serving


@contextlib.asynccontextmanager
async def _serving(answer: Answer, *, whole_head: bool = False) -> AsyncIterator[dict[str, Any]]:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            await answer(head if whole_head else head.partition("\r\n")[0], writer)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield {
            "endpoint": f"http://127.0.0.1:{port}",
            "allow_http": True,
            "access_key_id": {"env": "PATH"},  # any text will do
            "secret_access_key": {"env": "PATH"},
            "max_retries": 0,
        }
