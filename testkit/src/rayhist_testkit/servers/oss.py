"""Alibaba Cloud OSS as its S3-compatible service: a proxy before SeaweedFS that enforces OSS's rules.

Clients reach it as an HTTP proxy, so that a bucket in the host's name needs no name service: what is signed
is what OSS would see.  The rules are OSS's own, as its documentation and reports of its users have them:

* the bucket stands in the host's name only (403 `SecondLevelDomainForbidden`), which belongs to one region
  (403 `AccessDenied`, "must be addressed using the specified endpoint");
* no `If-None-Match` and `If-Match` on a write (501 `NotImplemented`), but `x-oss-forbid-overwrite: true` (409
  `FileAlreadyExists`);
* no signatures in pieces (400 `InvalidArgument`).

Bulk deletion, which OSS has been reported to refuse of S3 clients, is refused here.
"""

from __future__ import annotations

import http.client
from urllib.parse import urlsplit

from rayhist_testkit.servers.http import HOST
from rayhist_testkit.servers.seaweedfs import DOMAIN, VIRTUAL_HOSTS
from rayhist_testkit.servers.threaded import Answer, Request, ThreadedServer

REGION = "xx-test"
_HOSTS = tuple(host for host in VIRTUAL_HOSTS if ".oss-" in host)
_HOP_BY_HOP = {"connection", "proxy-connection", "keep-alive", "transfer-encoding", "proxy-authorization"}
_FORBID = "x-oss-forbid-overwrite"
_TIMEOUT_S = 60.0


class OssFront(ThreadedServer):
    """`port` is SeaweedFS's, which takes buckets in host names below `DOMAIN`."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self._port = port
        self.refused: list[str] = []
        """Codes of what was refused."""

    def address(self, host: str = _HOSTS[0]) -> str:
        """The endpoint without the bucket, for clients that go through this proxy."""
        return f"http://{host}.{DOMAIN}"

    def answer(self, request: Request) -> Answer:
        parts = urlsplit(request.target)
        host = parts.netloc or request.headers.get("host", "")
        refusal = _refusal(request, host.removesuffix(f".{DOMAIN}"))
        if refusal is not None:
            status, code, message = refusal
            self.refused.append(code)
            return _error(status, code, message)
        return self._forwarded(request, host)

    def _forwarded(self, request: Request, host: str) -> Answer:
        headers = {name: value for name, value in request.headers.items() if name not in _HOP_BY_HOP}
        headers["host"] = host
        creates = headers.get(_FORBID) == "true" and request.method == "PUT"
        if creates:
            headers["if-none-match"] = "*"
        parts = urlsplit(request.target)
        target = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
        connection = http.client.HTTPConnection(HOST, self._port, timeout=_TIMEOUT_S)
        try:
            connection.putrequest(request.method, target, skip_host=True, skip_accept_encoding=True)
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.endheaders(request.body)
            found = connection.getresponse()
            if creates and found.status == http.client.PRECONDITION_FAILED:
                self.refused.append("FileAlreadyExists")
                return _error(409, "FileAlreadyExists", "The object you specified already exists.")
            kept = {name: value for name, value in found.getheaders() if name.lower() not in _HOP_BY_HOP}
            return Answer(found.status, found.read(), kept)
        finally:
            connection.close()


def _refusal(request: Request, host: str) -> tuple[int, str, str] | None:
    """Status, code and message, if OSS does not take the request; `host` is without the test's domain."""
    _, dot, endpoint = host.partition(".")
    if host in _HOSTS or not dot:
        return 403, "SecondLevelDomainForbidden", "Please use virtual hosted style to access."
    if endpoint not in _HOSTS:
        return (
            403,
            "AccessDenied",
            "The bucket you are attempting to access must be addressed using the specified endpoint.",
        )
    if request.headers.get("x-amz-content-sha256", "").startswith("STREAMING-"):
        return 400, "InvalidArgument", "aws-chunked encoding is not supported."
    if request.method == "PUT" and {"if-match", "if-none-match"} & set(request.headers):
        return 501, "NotImplemented", "A header you provided implies functionality that is not implemented."
    if request.method == "POST" and urlsplit(request.target).query.split("=")[0] == "delete":
        return 400, "MalformedXML", "The XML you provided was not well-formed."
    return None


def _error(status: int, code: str, message: str) -> Answer:
    body = f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>{message}</Message></Error>'
    return Answer(status, body.encode(), {"content-type": "application/xml"})
