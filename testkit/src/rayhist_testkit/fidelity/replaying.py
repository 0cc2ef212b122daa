"""Asking the replay what the live dashboard was asked."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence

import msgspec

from rayhist_testkit.fidelity.asking import Asker
from rayhist_testkit.fidelity.question import Answered, Given, Question
from rayhist_testkit.fidelity.questions_logs import FILE

_LINES = re.compile(r"&lines=-?\d+")


def ask_again(address: str, live: Sequence[Answered]) -> Iterator[tuple[Answered, Answered]]:
    """Yield each live answer with the replay's answer to the same question."""
    with contextlib.closing(Asker(address)) as asker:
        for one in live:
            answer = asker.ask(one.question)
            if _differs_in_log(one, answer):
                answer = msgspec.structs.replace(answer, whole=asker.ask(_whole(one.question)).body)
            yield one, Answered(one.question, answer)


def _differs_in_log(live: Answered, answer: Given) -> bool:
    return (
        live.question.path.startswith(FILE) and live.answer.status == 200 and live.answer.body != answer.body
    )


def _whole(question: Question) -> Question:
    return Question(_LINES.sub("", question.path) + "&lines=-1", browser=question.browser)
