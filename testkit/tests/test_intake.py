"""The recording intake keeps what it was given, and can be as full as a disk."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from rayhist.errors import Unavailable
from rayhist.logpack import PackedFile
from rayhist.source import Answer
from rayhist_testkit.intake import RecordingIntake

SESSION = "session_2026-11-30_15-30-13_707929_24810"


def test_events_are_counted_when_they_are_new(tmp_path: Path) -> None:
    async def body() -> None:
        intake = RecordingIntake(tmp_path)
        assert intake.empty
        assert await intake.events([b"1", b"2"]) == 2
        assert await intake.events([b"2", b"3"]) == 1
        assert intake.lines == [b"1", b"2", b"3"]

    asyncio.run(body())


async def fail_inside(intake: RecordingIntake) -> None:
    async with intake.log_pack(SESSION) as pack:
        pack.name(PackedFile("a1", "raylet.out.2"))
        raise ZeroDivisionError


def test_packs_are_put_together_by_the_latest_name(tmp_path: Path) -> None:
    async def body() -> None:
        intake = RecordingIntake(tmp_path)
        for name, start, data in (("raylet.out", 0, b"one "), ("raylet.out.1", 4, b"two")):
            async with intake.log_pack(SESSION) as pack:
                pack.name(PackedFile("a1", name))
                pack.add("a1", start, data)
        async with intake.log_pack(SESSION):
            pass
        with pytest.raises(ZeroDivisionError):
            await fail_inside(intake)
        assert len(intake.packs) == 2
        assert intake.logs(SESSION) == {"raylet.out.1": b"one two"}
        assert intake.logs("another") == {}

    asyncio.run(body())


def test_a_full_intake_takes_nothing(tmp_path: Path) -> None:
    async def body() -> None:
        intake = RecordingIntake(tmp_path)
        intake.full = True
        answer = Answer("/api/jobs", 1, 200, msgspec.Raw(b"[]"))
        for attempt in (
            intake.events([b"1"]),
            intake.answers(SESSION, [answer]),
            intake.file("key", b""),
            intake.log_file(SESSION, "debug_state.txt", b""),
        ):
            with pytest.raises(Unavailable):
                await attempt
        with pytest.raises(Unavailable):
            async with intake.log_pack(SESSION):
                pass
        assert intake.empty
        intake.full = False
        await intake.answers(SESSION, [answer])
        assert intake.recorded_answers == [(SESSION, answer)]

    asyncio.run(body())


def test_waiting_for_what_never_comes_ends(tmp_path: Path) -> None:
    intake = RecordingIntake(tmp_path)
    with pytest.raises(TimeoutError):
        asyncio.run(intake.until(lambda: False, within_s=0.05))
