import asyncio
import urllib.error
import urllib.request
from http.client import HTTPException

import msgspec

from rayhist import layout
from rayhist.errors import ConfigError, DataError, Denied, Unavailable
from rayhist.manifest import JobSummary, read_marker
from rayhist.sink import Sealed, Sink, SinkContext
from rayhist_sink_webhook import Options

FINISHED = {"SUCCEEDED", "FAILED", "STOPPED"}


class WebhookSink(Sink):
    """Jobs stand in the session's marker, which the head's collector delivers at each heartbeat."""

    def __init__(self, context: SinkContext, options: Options) -> None:
        if not options.url.startswith(("http://", "https://")):
            raise ConfigError(f"webhook url {options.url!r} is no address", remedy="https://…")
        self._context = context
        self._options = options
        self._told: set[tuple[str, str]] = set()

    async def deliver(self, sealed: Sealed) -> None:
        reference = layout.parse(sealed.key)
        if not isinstance(reference, layout.Marker):
            return  # nothing for us: the archive takes it
        try:
            marker = read_marker(await asyncio.to_thread(sealed.path.read_bytes), sealed.key)
        except DataError:
            return
        for job in marker.jobs:
            known = (reference.session.name, job.id)
            if job.status in FINISHED and known not in self._told:
                await asyncio.to_thread(self._tell, reference, job)
                self._told.add(known)

    def _tell(self, marker: layout.Marker, job: JobSummary) -> None:
        """A receiver knows by the key what it was told before: after a restart we tell again."""
        page = f"{self._options.server.rstrip('/')}/s/{marker.session.path}/#/jobs/{job.id}"
        body = {"job": job.id, "status": job.status, "entrypoint": job.entrypoint, "url": page}
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": f"{marker.session.name}/{job.id}",
        }
        if self._options.token:
            headers["Authorization"] = f"Bearer {self._options.token.reveal()}"
        request = urllib.request.Request(
            self._options.url, data=msgspec.json.encode(body), headers=headers, method="POST"
        )
        try:
            with urllib.request.urlopen(request, timeout=self._options.timeout_s):
                return
        except urllib.error.HTTPError as error:
            with error:
                retry_after_s = _seconds(error.headers["Retry-After"])
                message = f"{self._options.url}: status {error.code}"
            if error.code in {401, 403}:
                raise Denied(message, remedy="check the webhook's token") from error
            raise Unavailable(message, retry_after_s=retry_after_s) from error
        except (OSError, HTTPException) as error:
            raise Unavailable(f"{self._options.url}: {error}") from error


def _seconds(header: str | None) -> float | None:
    return float(header) if header and header.isdecimal() else None
