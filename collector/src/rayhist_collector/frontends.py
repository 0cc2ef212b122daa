"""The dashboard's own static files: in an installed Ray, a folder or a wheel, or as a dashboard shows them.

Source maps are left out: they are the bulk of the build, and no page asks for them.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from rayhist.errors import BadIdentifier, ConfigError, DataError
from rayhist.ids import relative_path
from rayhist_collector.dashboard_client import Reply

INDEX = "index.html"
_BUILD = PurePosixPath("ray/dashboard/client/build")
_OK = 200
_MAX_FILES = 2000
_MAX_FILE_BYTES = 64 << 20

# What a page or a script of the build names: relative, or absolute from the build's root.
_QUOTED = re.compile(r"""["'](?:\./|/)?((?:static|assets)/[\w./-]+\.\w+)["']""")
_LINKED = re.compile(r"""(?:src|href)=["'](?:\./|/)?([\w./-]+\.\w+)["']""")
_CSS_URL = re.compile(r"""url\(\s*["']?([^"')]+)["']?\s*\)""")
# Webpack's names of lazy chunks: "static/js/"+e+"."+{495:"be90ecf3",591:"fe276a82"}[e]+".chunk.js"
_CHUNKS = re.compile(r'"(static/(?:js|css)/)"\+\w+\+"\."\+\{([^{}]*)\}\[\w+\]\+"(\.chunk\.(?:js|css))"')
_CHUNK = re.compile(r'(\w+):"(\w+)"')


def installed(version: str) -> Path | None:
    """The build in the Ray that is installed beside us, if it is that version and has one."""
    try:
        ray = distribution("ray")
    except PackageNotFoundError:
        return None
    folder = Path(str(ray.locate_file(str(_BUILD))))
    return folder if ray.version == version and (folder / INDEX).is_file() else None


def from_folder(folder: Path) -> Iterator[tuple[str, bytes]]:
    """The files of a build, by path; `index.html` last, since a reader takes it for a sign of the others.

    Raises `ConfigError` if the folder is no build.
    """
    if not (folder / INDEX).is_file():
        raise ConfigError(
            f"{folder}: no {INDEX} there", remedy=f"give the folder {_BUILD} of an installed Ray"
        )
    paths = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    for path in _ordered(paths):
        try:
            yield path, (folder / path).read_bytes()
        except OSError as error:
            raise ConfigError(f"{folder / path}: cannot be read: {error.strerror}") from error


def from_wheel(wheel: Path) -> Iterator[tuple[str, bytes]]:
    """As `from_folder`, out of a wheel of Ray.  Raises `ConfigError` if it is none."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            prefix = f"{_BUILD}/"
            names = [name for name in archive.namelist() if name.startswith(prefix) and name[-1] != "/"]
            if prefix + INDEX not in names:
                raise ConfigError(f"{wheel}: no dashboard in it", remedy="give a wheel of ray, not another's")
            for path in _ordered([name[len(prefix) :] for name in names]):
                yield path, archive.read(prefix + path)
    except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
        raise ConfigError(f"{wheel}: not a readable wheel: {error}") from error


def from_dashboard(get: Callable[[str], Reply]) -> Iterator[tuple[str, bytes]]:
    """As `from_folder`, by following what the pages of a running dashboard name.

    Raises `DataError` if there is no page, and what `get` raises.
    """
    page = get("/")
    if page.status != _OK or b"<script" not in page.body:
        raise DataError(f"the dashboard has no page: it is answered {page.status}")
    found: dict[str, bytes] = {}
    waiting = _references(INDEX, page.body)
    while waiting and len(found) < _MAX_FILES:
        path = waiting.pop()
        if path in found:
            continue
        reply = get(f"/{path}")
        if reply.status == _OK and len(reply.body) <= _MAX_FILE_BYTES:
            found[path] = reply.body
            waiting |= _references(path, reply.body) - found.keys()
    yield from sorted(found.items())
    yield INDEX, page.body


def _references(path: str, body: bytes) -> set[str]:
    """What a file of the build names of its build's other files."""
    suffix = PurePosixPath(path).suffix
    if suffix not in {".html", ".js", ".css"}:
        return set()
    text = body.decode("utf-8", "replace")
    named = set(_QUOTED.findall(text))
    if suffix == ".html":
        named |= set(_LINKED.findall(text))
    if suffix == ".css":
        named |= {_joined(path, url) for url in _CSS_URL.findall(text)}
    for prefix, table, ending in _CHUNKS.findall(text):
        named |= {f"{prefix}{name}.{digest}{ending}" for name, digest in _CHUNK.findall(table)}
    return {name for name in named if _wanted(name)}


def _joined(path: str, url: str) -> str:
    """A style sheet's URL, relative to the sheet, as a path of the build; `""` if it leads elsewhere."""
    parts = urlsplit(url)
    if parts.scheme or parts.netloc or not parts.path:
        return ""
    joined = [] if parts.path.startswith("/") else list(PurePosixPath(path).parent.parts)
    for part in parts.path.split("/"):
        if part == "..":
            joined = joined[:-1]
        elif part not in {"", "."}:
            joined.append(part)
    return "/".join(joined)


def _ordered(paths: list[str]) -> list[str]:
    return sorted(filter(_wanted, paths), key=lambda path: (path == INDEX, path))


def _wanted(path: str) -> bool:
    try:
        relative_path(path)
    except BadIdentifier:
        return False
    return not path.endswith(".map")
