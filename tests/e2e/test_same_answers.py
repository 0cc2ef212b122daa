"""Where a recording is kept makes no difference: a folder and S3 give the same answers, byte for byte."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from e2e.archives import copy

from rayhist_testkit.cluster.server import HistoryServer
from rayhist_testkit.demo.record import Recording
from rayhist_testkit.demo.shipped import open_store
from rayhist_testkit.fidelity.asking import ask_all
from rayhist_testkit.fidelity.question import Question
from rayhist_testkit.servers.seaweedfs import SeaweedFS

pytestmark = [pytest.mark.services, pytest.mark.timeout(900)]


def test_a_folder_and_s3_give_the_same_answers(
    server: HistoryServer,
    recording: Recording,
    questions: list[Question],
    seaweedfs: SeaweedFS,
    tmp_path: Path,
) -> None:
    in_s3 = replace(
        recording.settings, storage_url=seaweedfs.url("same-answers"), storage_options=seaweedfs.options()
    )

    async def copied() -> int:
        async with open_store(recording.settings) as source, open_store(in_s3) as target:
            return await copy(source, target)

    assert asyncio.run(copied()) > 100
    with HistoryServer(in_s3.storage_url, tmp_path, storage_options=in_s3.storage_options) as other:
        other.until_ended(recording.session)
        from_folder = ask_all(server.session_url(recording.session), questions)
        from_s3 = ask_all(other.session_url(recording.session), questions)
        different = [
            one.question.name
            for one, another in zip(from_folder, from_s3, strict=True)
            if one.answer != another.answer
        ]
    assert different == []
