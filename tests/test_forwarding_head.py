"""The middleware with which a Ray head forwards its dashboard's requests finds what it needs here."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import MethodType, SimpleNamespace
from typing import Any

import pytest

from rayhist.ids import Session
from rayhist.local import LocalStore, Options
from rayhist_testkit import kuberay, recordings

pytestmark = [pytest.mark.services, pytest.mark.timeout(240), pytest.mark.filterwarnings("ignore")]

OWN = "the head's own frontend"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Session]:
    folder = tmp_path_factory.mktemp("forwarded")
    store = LocalStore(folder / "archive", Options(fsync=False))
    return folder, asyncio.run(kuberay.lay_out(store, recordings.RAY_2_60))


@pytest.fixture(scope="module")
def address(archive: tuple[Path, Session]) -> Iterator[str]:
    folder, _ = archive
    command = [sys.executable, "-m", "rayhist.cli", "serve", "--port", "0"]
    command += ["--storage", (folder / "archive").as_uri()]
    environment = os.environ | {"RAYHIST__CACHE__PATH": str(folder / "cache")}
    server = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    )
    try:
        assert server.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:\d+", server.stdout.readline())
        assert found
        yield found[0]
    finally:
        server.kill()
        server.communicate()


async def head(address: str, paths: list[str]) -> list[tuple[int, str]]:
    """What a head that forwards to the address answers to one browser that asks for these paths in turn."""
    from aiohttp import ClientSession, CookieJar, web
    from ray.dashboard.http_server_head import HttpServerDashboardHead

    async def own(_request: web.Request) -> web.Response:
        return web.Response(text=OWN)

    settings = SimpleNamespace(proxy_server_url=address)
    forward: Any = MethodType(HttpServerDashboardHead.proxy_server_middleware, settings)
    app = web.Application(middlewares=[forward])
    app.router.add_get("/{path:.*}", own)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    found = []
    try:
        async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as browser:
            for path in paths:
                async with browser.get(f"http://{host}:{port}{path}", allow_redirects=False) as answer:
                    found.append((answer.status, await answer.text()))
    finally:
        await runner.cleanup()
    return found


def test_a_session_is_chosen_through_the_head_and_shown_in_its_own_frontend(
    address: str, archive: tuple[Path, Session]
) -> None:
    cluster = archive[1].cluster
    enter = f"/enter_cluster/{cluster.namespace}/raycluster/{cluster.name}"
    paths = ["/", "/clusters", enter, "/", "/static/js/main.js", "/nodes?view=summary", "/api/jobs/"]
    paths += ["/api/v0/tasks?limit=3", "/api/gcs_healthz", "/select_cluster", "/"]
    answers = dict(enumerate(asyncio.run(head(address, paths))))
    assert "Ray History Server" in answers[0][1]
    assert archive[1].name in answers[1][1]
    assert '"success"' in answers[2][1]
    assert answers[3] == answers[4] == (200, OWN)
    assert '"nodeManagerHostname"' in answers[5][1]
    assert '"entrypoint"' in answers[6][1]
    assert '"task_id"' in answers[7][1]
    assert answers[8] == (200, OWN)
    assert "Ray History Server" in answers[9][1]
    assert "Ray History Server" in answers[10][1]


def test_a_session_s_address_works_as_the_url(address: str, archive: tuple[Path, Session]) -> None:
    below = f"{address}/s/{archive[1].path}"
    [jobs, version] = asyncio.run(head(below, ["/api/jobs/", "/api/version"]))
    assert '"entrypoint"' in jobs[1]
    assert archive[1].name in version[1]
