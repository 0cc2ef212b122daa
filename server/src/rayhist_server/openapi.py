"""The description of the routes, at `/schema`; as JSON only: its pages would load scripts from elsewhere."""

from __future__ import annotations

from litestar.handlers import HTTPRouteHandler
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.types import Method
from litestar.types.internal_types import PathParameterDefinition


def config(release: str) -> OpenAPIConfig:
    return OpenAPIConfig(
        title="Ray History Server",
        version=release,
        description="Recorded Ray sessions, each answering as its dashboard did.",
        path="/schema",
        render_plugins=[JsonRenderPlugin(path="/openapi.json")],
        operation_id_creator=_operation_id,
    )


def _operation_id(
    _handler: HTTPRouteHandler, method: Method, path: list[str | PathParameterDefinition]
) -> str:
    """`get_s_raycluster_namespace_cluster_session_timezone`: unique, since the path is."""
    names = (part if isinstance(part, str) else part.name for part in path)
    return "_".join([method.lower(), *names])
