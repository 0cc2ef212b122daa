"""This server's own pages: the list of sessions, progress, problems, login.  Jinja escapes every value."""

from __future__ import annotations

from collections import Counter
from importlib import resources
from urllib.parse import urlencode

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from litestar import Response
from litestar.types import Scope

from rayhist.catalog import SessionEntry, State
from rayhist.manifest import JobSummary
from rayhist.replay import Progress
from rayhist_server.about import About
from rayhist_server.loader import Loading, describe
from rayhist_server.sessions import ABOUT, LAST_KNOWN, Page, address
from rayhist_server.words import utc

_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
        " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "cache-control": "no-store",
}
ASSETS = {
    "rayhist.css": "text/css",
    "sessions.js": "application/javascript",
    "icon.svg": "image/svg+xml",
}


class _Row(msgspec.Struct, frozen=True):
    """What the list shows of a session, in words."""

    cluster: str
    owner: str
    namespace: str
    session: str
    path: str
    about: str
    start: str
    end: str
    state: str
    jobs: str
    job_list: str


class Pages:
    def __init__(self) -> None:
        self._templates = Environment(
            loader=PackageLoader("rayhist_server"), autoescape=True, undefined=StrictUndefined
        )

    def sessions(self, page: Page, search: str, archive: str) -> Response[str]:
        rows = [_row(entry) for entry in page.entries]
        newer = max(0, page.offset - page.limit) if page.offset else None
        older = page.offset + page.limit if page.offset + page.limit < page.matched else None
        return self._page(
            "sessions",
            "Sessions",
            "",
            rows=rows,
            q=search,
            total=page.total,
            matched=page.matched,
            archive=archive,
            newer=_query(search, newer, page.limit),
            older=_query(search, older, page.limit),
        )

    def about(self, about: About, scope: Scope, *, status: int, last_known: bool) -> Response[str]:
        """A session's own page."""
        name = about.session.name
        other = f"../{name}{'' if last_known else LAST_KNOWN}/" if scope["path_params"] else ""
        return self._page(
            "about",
            name,
            root_of(scope),
            status=status,
            about=about,
            last_known=last_known,
            other_view=other,
        )

    def progress(self, loading: Loading, scope: Scope) -> Response[str]:
        return self._page(
            "progress",
            "Opening",
            root_of(scope),
            status=202,  # to a browser a 5xx is a failed request
            session=loading.session.path,
            share=_share(loading.progress),
            words=describe(loading.progress),
        )

    def problem(
        self, title: str, message: str, remedy: str | None, scope: Scope, status: int
    ) -> Response[str]:
        return self._page(
            "problem", title, root_of(scope), status=status, message=message, remedy=remedy or ""
        )

    def login(self, scope: Scope, message: str, status: int, *, after: str) -> Response[str]:
        """The login form; `after` is where it leads, relative to the server's root."""
        return self._page("login", "Log in", root_of(scope), status=status, message=message, next=after)

    def _page(
        self, template: str, title: str, root: str, *, status: int = 200, **values: object
    ) -> Response[str]:
        body = self._templates.get_template(f"{template}.html").render(title=title, root=root, **values)
        return Response(body, media_type="text/html", status_code=status, headers=_HEADERS)


def asset(name: str) -> bytes:
    """One of the `ASSETS`."""
    return resources.files("rayhist_server").joinpath("assets", name).read_bytes()


def root_of(scope: Scope) -> str:
    """The relative address of the server's root, as seen from this request's address."""
    path = scope["raw_path"].partition(b"?")[0]
    return "../" * (path.count(b"/") - 1)


def _query(search: str, offset: int | None, limit: int) -> str | None:
    if offset is None:
        return None
    given = {"q": search} if search else {}
    return urlencode(given | {"offset": str(offset), "limit": str(limit)})


def _share(progress: Progress) -> int | None:
    if not progress.total_bytes or progress.step != "reading events":
        return None
    return 100 * progress.bytes // progress.total_bytes


def _row(entry: SessionEntry) -> _Row:
    cluster = entry.session.cluster
    return _Row(
        cluster=cluster.name,
        owner=cluster.owner,
        namespace=cluster.namespace,
        session=entry.session.name,
        path=address(entry.session),
        about=address(entry.session) + ABOUT,
        start=("~" if entry.start_is_approximate else "") + utc(entry.start_ms),
        end="" if entry.state is State.RUNNING else utc(entry.last_seen_ms),
        state=entry.state,
        jobs=_jobs(entry.jobs),
        job_list="\n".join(f"{job.id} {job.status} {job.entrypoint}" for job in entry.jobs),
    )


def _jobs(jobs: list[JobSummary]) -> str:
    counts = Counter(job.status or "unknown" for job in jobs)
    return ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
