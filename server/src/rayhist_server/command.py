"""`rayhist serve`."""

from __future__ import annotations

from collections.abc import Sequence

from rayhist import config
from rayhist.cli import parser
from rayhist.config import Config
from rayhist.hookspecs import hookimpl
from rayhist.kinds import Command
from rayhist.plugins import Plugins

_DESCRIPTION = """\
Serve the recorded sessions of an archive: a page that lists them, and below each one the Ray Dashboard as
it was.  Without any option: this user's own archive folder, on http://127.0.0.1:8090/.

  rayhist serve --storage s3://bucket/ray-history
  rayhist serve --session raycluster/default/ray/latest     one session at the root of the address"""


def run(argv: Sequence[str], plugins: Plugins) -> int:
    arguments = parser("serve", _DESCRIPTION)
    arguments.add_argument("--host", help="address to listen on (default: [server] host, 127.0.0.1)")
    arguments.add_argument("--port", type=int, help="port; 0 takes a free one (default: [server] port, 8090)")
    arguments.add_argument("--storage", metavar="URL", help="the archive (default: [storage] url)")
    arguments.add_argument(
        "--session",
        metavar="KIND/NAMESPACE/[OWNER/]CLUSTER/SESSION",
        help="serve this session at the root, for clients that cannot keep a path; `latest` names the newest",
    )
    given = arguments.parse_args(argv)
    loaded = _overridden(config.load(given.config), given.host, given.port, given.storage)

    from rayhist_server.running import serve  # noqa: PLC0415 - the web framework loads only to serve

    return serve(loaded, plugins, given.session)


def _overridden(loaded: Config, host: str | None, port: int | None, storage: str | None) -> Config:
    """The options of the command line, checked as the file's are."""
    tree = config.to_builtins(loaded)
    for section, field, value in (
        ("server", "host", host),
        ("server", "port", port),
        ("storage", "url", storage),
    ):
        if value is not None:
            tree[section][field] = value
    return config.convert(tree, Config, "$")


@hookimpl
def rayhist_command() -> Command:
    return Command(api=1, name="serve", summary="serve recorded sessions in the Ray Dashboard", run=run)
