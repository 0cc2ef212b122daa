import os
from pathlib import Path

from rayhist.errors import BadIdentifier, DataError, Unavailable
from rayhist.ids import session_name
from rayhist.source import Intake, Source, SourceContext
from rayhist_source_load import Options

FILE = "host_load.log"
MOST_BYTES = 1 << 20


class LoadSource(Source):
    """Keeps its lines in the folder that is its own, so that a restart loses none."""

    def __init__(self, context: SourceContext, options: Options) -> None:
        self._context = context
        self._options = options

    async def run(self, intake: Intake) -> None:
        while True:
            await self._record(intake)
            await self._context.clock.sleep(self._options.interval_s)

    async def finish(self, intake: Intake) -> None:
        await self._record(intake)

    async def _record(self, intake: Intake) -> None:
        """Nothing that goes wrong here may end the source: it waits, and says so."""
        session = self._session()
        if not session:
            return
        try:
            await intake.log_file(session, FILE, self._lines(session))
        except (DataError, Unavailable, OSError) as error:
            self._context.log.warning("the load is recorded later", error=str(error))

    def _session(self) -> str:
        """The session that runs: Ray's link to it may lead nowhere here, but its name counts."""
        try:
            return session_name(Path(os.readlink(self._context.temp_dir / "session_latest")).name)
        except (OSError, BadIdentifier):
            return ""  # Ray has not started yet

    def _lines(self, session: str) -> bytes:
        """All lines of the session, of which the oldest are dropped in the end."""
        path = self._context.state_dir / session
        kept = path.read_bytes() if path.exists() else b""
        load = " ".join(f"{value:.2f}" for value in os.getloadavg())
        lines = (kept + f"{self._context.clock.time_ms()} {load}\n".encode())[-MOST_BYTES:]
        temporary = path.with_suffix(".part")
        temporary.write_bytes(lines)
        temporary.replace(path)
        return lines
