import asyncio
import re
from pathlib import Path
from typing import ClassVar

from rayhist.source import SourceContext
from rayhist_testkit.contracts import PluginContract, SourceContract
from rayhist_testkit.intake import RecordingIntake

SESSION = "session_2026-11-30_15-25-10_490256_10672"


class TestPlugin(PluginContract):
    role, name = "source", "host-load"


class TestLoad(SourceContract):
    name = "host-load"
    options: ClassVar = {"interval_s": 0.05}

    async def happen(self, context: SourceContext) -> None:
        """Ray starts: the link appears."""
        context.temp_dir.mkdir(parents=True)
        (context.temp_dir / "session_latest").symlink_to(f"/elsewhere/{SESSION}")

    def recorded(self, intake: RecordingIntake) -> bool:
        lines = intake.log_files.get((SESSION, "host_load.log"), b"").decode().splitlines()
        return len(lines) >= 2 and all(re.fullmatch(r"\d{13}( \d+\.\d\d){3}", line) for line in lines)

    def test_a_restart_keeps_what_was_there(self, tmp_path: Path) -> None:
        async def body() -> list[int]:
            intake, context = RecordingIntake(tmp_path), self.context(tmp_path)
            await self.happen(context)
            counts = []
            for _ in range(3):
                await self.open_source(context).finish(intake)
                counts.append(intake.log_files[SESSION, "host_load.log"].count(b"\n"))
            return counts

        assert asyncio.run(body()) == [1, 2, 3]
