"""Log files of a real cluster, recorded, answer as its dashboard did."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from rayhist.index import Index
from rayhist.logpack import PackedFile
from rayhist.logs import LogError, LogRequest, LogSlice, list_files, parse_request, resolve
from rayhist.memory import MemoryStore
from rayhist.replay import replay
from rayhist.replay.build import Report
from rayhist.storage import Store
from rayhist_testkit.logs import LogArchive, Packed, content, contents
from rayhist_testkit.recordings import RAY_2_60, RecordedAnswer, Recording, lay_out

Files = dict[tuple[str, str], bytes]

REWRITTEN = "debug_state.txt"
"""Ray writes it anew every ten seconds, so that the recorded one is a later one than the answers'."""
COLOUR = re.compile(rb"\x1b\[[0-9;]+m")
NO_TEXT = "500 Internal Server Error\n\nServer got itself in trouble"
"""What Ray answers where it has no text for it."""


class Recorded:
    """The recording, replayed: its log files in an archive, and its index."""

    def __init__(self, recording: Recording, files: Files, store: Store, index: Index) -> None:
        self.recording = recording
        self.files = files
        self.store = store
        self.index = index

    def answers(self, group: str) -> list[tuple[RecordedAnswer, dict[str, str]]]:
        found = [one for one in self.recording.answers() if one.group == group]
        return [(one, dict(parse_qsl(urlsplit(one.path).query, keep_blank_values=True))) for one in found]

    def read(self, what: LogSlice, request: LogRequest) -> bytes:
        colours = not request.filter_ansi_code
        return asyncio.run(content(self.store, self.index, what, lines=request.lines, colours=colours))


async def _store_in_packs(archive: LogArchive, files: Files) -> None:
    """In three packs a node: the first half of each file, a third around its middle, the second half."""
    for node in {node for node, _ in files}:
        ours = [(f"f{i}", path, data) for i, ((of, path), data) in enumerate(files.items()) if of == node]
        for low, high in ((0, 3), (2, 4), (3, 6)):
            parts = [
                (name, path, len(data) * low // 6, data[len(data) * low // 6 : len(data) * high // 6])
                for name, path, data in ours
            ]
            packed = [Packed(PackedFile(name, path), [(start, part)]) for name, path, start, part in parts]
            await archive.pack(packed, node=node)


@pytest.fixture(scope="module", params=["whole files", "packs"])
def recorded(
    request: pytest.FixtureRequest, recording: Recording, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Recorded]:
    files = {(node, path): data for node, path, data in recording.logs()}
    store = MemoryStore()
    path: Path = tmp_path_factory.mktemp("index") / "index.sqlite"

    async def build() -> Report:
        in_packs = request.param == "packs"
        session = await lay_out(store, RAY_2_60, logs=not in_packs)
        if in_packs:
            await _store_in_packs(LogArchive(store, session), files)
        return await replay(store, session, path)

    assert asyncio.run(build()).damaged == {}
    index = Index(path)
    yield Recorded(recording, files, store, index)
    index.close()


def test_every_byte_of_every_file_comes_back(recorded: Recorded) -> None:
    assert contents(recorded.store, recorded.index) == recorded.files
    assert all(
        not file.missing for node in recorded.index.log_nodes() for file in recorded.index.log_files(node)
    )


def test_files_are_listed_in_rays_categories(recorded: Recorded) -> None:
    """All that Ray listed and is in the archive: Ray also lists empty files and folders."""
    compared = 0
    for answer, asked in recorded.answers("logs"):
        if answer.status != 200:
            continue
        live: dict[str, list[str]] = answer.value["data"]["result"]
        ours = list_files(recorded.index, node_id=asked["node_id"], glob=asked.get("glob", "*"))
        for category in live.keys() | ours.keys():
            listed = live.get(category, [])
            theirs = sorted(path for path in listed if _kept(recorded.files, asked["node_id"], path))
            assert theirs == ours.get(category, []), (answer.path, category)
            compared += len(theirs)
    assert compared > 800


def _kept(files: Files, node: str, path: str) -> bool:
    if path.endswith("/"):
        folder = "" if path == "./" else path
        return any(of == node and name.startswith(folder) for of, name in files)
    return (node, path) in files


def test_named_files_are_answered_byte_by_byte(recorded: Recorded) -> None:
    """Files went on growing after they were asked for, so they are compared up to where they ended then."""
    compared, rewritten, absent = 0, set(), []
    for answer, asked in recorded.answers("logfile"):
        if answer.status != 200 or "filename" not in asked:
            continue
        request = parse_request(asked)
        try:
            what = resolve(recorded.index, request)
        except LogError:
            absent.append(answer)
            continue
        ends = _possible_ends(recorded.files[what.node, what.path], answer.body)
        reads = [recorded.read(LogSlice(what.node, what.path, 0, end), request) for end in ends]
        if answer.body in reads:
            compared += 1
        else:
            rewritten.add(what.path)
    assert rewritten == {REWRITTEN}
    assert {answer.body for answer in absent} == {b""}  # empty files are not in the archive
    assert compared > 65


def _possible_ends(now: bytes, then: bytes) -> list[int]:
    """Where the file may have ended when it was answered with `then`, which may lack its colours."""
    if not then:
        return [0]
    if (position := now.rfind(then)) >= 0:
        return [position + len(then)]
    lines = [match.end() for match in re.finditer(rb"\n|\Z", now)]
    return [end for end in lines if COLOUR.sub(b"", now[:end]).endswith(then)]


def test_tasks_and_actors_are_answered_byte_by_byte(recorded: Recorded) -> None:
    """What a live task or actor had written by then is the beginning of what it wrote."""
    exact, grown = 0, 0
    for answer, asked in recorded.answers("logfile"):
        if answer.status != 200 or not ("task_id" in asked or "actor_id" in asked):
            continue
        request = parse_request(asked)
        ours = recorded.read(resolve(recorded.index, request), request)
        assert ours.startswith(answer.body), answer.path
        exact += ours == answer.body
        grown += ours != answer.body
    assert exact >= 70
    assert grown < 10


def test_failures_have_rays_text(recorded: Recorded) -> None:
    compared = 0
    for answer, asked in recorded.answers("logfile"):
        text = answer.body.decode(errors="replace")
        if answer.status == 200 or text == NO_TEXT or "etc/passwd" in text:
            continue
        with pytest.raises(LogError) as caught:
            resolve(recorded.index, parse_request(asked))
        assert (str(caught.value), caught.value.status) == (text, answer.status)
        compared += 1
    assert compared > 70


def test_a_task_that_printed_bytes_of_all_values_and_a_100_kb_line_is_unchanged(recorded: Recorded) -> None:
    request = LogRequest(task_id=recorded.recording.ids["task.output"], lines=-1)
    output = recorded.read(resolve(recorded.index, request), request)
    assert set(output) >= set(range(256))
    assert max(map(len, output.split(b"\n"))) >= 100_000


@pytest.mark.parametrize("label", ["submission.ok", "submission.raise", "submission.two_drivers"])
def test_a_submissions_log_is_found_by_its_id_alone(recorded: Recorded, label: str) -> None:
    submission = recorded.recording.ids[label]
    request = LogRequest(submission_id=submission, lines=-1)
    what = resolve(recorded.index, request)
    assert recorded.read(what, request) == recorded.files[what.node, f"job-driver-{submission}.log"]
