"""What only a living cluster can do, answered in plain words; and what a dashboard has only sometimes."""

from __future__ import annotations

from litestar import Response
from litestar.params import FromPath

from rayhist_server.answers import text_answer
from rayhist_server.routes.answering import answers
from rayhist_server.session_scope import NO_INDEX, SessionRequest

_GONE = 410


@answers(
    [
        "/task/traceback",
        "/task/cpu_profile",
        "/worker/traceback",
        "/worker/cpu_profile",
        "/worker/gpu_profile",
        "/worker/jax_profile",
        "/memory_profile",
    ],
    **{NO_INDEX: True},
)
async def profiling(request: SessionRequest) -> Response[bytes]:
    """Stack traces and profiles need the process itself."""
    return _gone(request, "its processes cannot be profiled or traced any more")


@answers(["/api/v0/logs/stream", "/api/jobs/{job_id:str}/logs/tail"], **{NO_INDEX: True})
async def follow(request: SessionRequest) -> Response[bytes]:
    """A log that has ended cannot be followed."""
    return _gone(
        request, "its logs do not grow any more; ask for them without following, at api/v0/logs/file"
    )


@answers("/api/packages/{protocol:str}/{package_name:str}", **{NO_INDEX: True})
async def package(
    request: SessionRequest, protocol: FromPath[str], package_name: FromPath[str]
) -> Response[bytes]:
    """Packages of runtime environments are not recorded."""
    return text_answer(
        f"Package {protocol}://{package_name} is not part of the recording of {request.recorded.path}",
        status=404,
    )


@answers("/api/v0/platform_events", **{NO_INDEX: True})
async def platform_events() -> Response[bytes]:
    """404, which makes the frontend hide its page of platform events."""
    return text_answer("404: Not Found", status=404)


HANDLERS = [profiling, follow, package, platform_events]


def _gone(request: SessionRequest, why: str) -> Response[bytes]:
    return text_answer(f"{request.recorded.path} is a recorded session: {why}.", status=_GONE)
