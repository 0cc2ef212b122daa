"""One ending: recorded or taken from a folder, replayed, and compared in both views."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rayhist_testkit.cluster.dashboard import Dashboard
from rayhist_testkit.cluster.server import HistoryServer
from rayhist_testkit.fidelity import recording
from rayhist_testkit.fidelity.aftermath import after
from rayhist_testkit.fidelity.judging import Judgement, judge
from rayhist_testkit.fidelity.moments import Ending, Moments, View
from rayhist_testkit.fidelity.recording import Witnessed
from rayhist_testkit.fidelity.replaying import ask_again
from rayhist_testkit.fidelity.table import Table

Say = Callable[[str], None]


@dataclass(slots=True)
class Run:
    """What is compared, and what came of it so far."""

    table: Table
    sections: list[str]
    say: Say
    judgement: Judgement = field(default_factory=Judgement)
    compared: list[Moments] = field(default_factory=list)

    def compare(self, ending: Ending, folder: Path, *, again: bool = False) -> None:
        """Compare one ending in both views.  `folder` keeps the recording; `again` takes the one it has."""
        self.say(f"ending: {ending}")
        if again:
            witnessed = recording.reopen(ending, folder)
        else:
            witnessed = recording.witness(ending, folder, self.sections, self.say)
        with tempfile.TemporaryDirectory(prefix="rayhist-fidelity-server-") as scratch:
            self._replay(witnessed, Path(scratch))

    def _replay(self, witnessed: Witnessed, scratch: Path) -> None:
        recorded = witnessed.recording
        live = [one for one in witnessed.live if one.question.section in self.sections]
        with HistoryServer(recorded.settings.storage_url, scratch) as server:
            server.until_ended(recorded.session)
            urls = {
                view: server.session_url(recorded.session, last_known=view is View.LAST_KNOWN)
                for view in View
            }
            known = b"".join(one.answer.body for one in witnessed.live)
            aftermath = after(Dashboard(urls[View.LAST_KNOWN]), witnessed.from_ms, known)
            end = Dashboard(urls[View.ENDED]).json("api/v1/session")["end"]
            for moments in _moments(witnessed, end["at_ms"]):
                self.say(f"asking the replay for the same, {moments.view}")
                pairs = ask_again(urls[moments.view], live)
                judge(pairs, moments, aftermath, self.table, self.judgement)
                self.compared.append(moments)


def _moments(witnessed: Witnessed, end_ms: int) -> Iterator[Moments]:
    for view in View:
        yield Moments(
            ending=witnessed.ending,
            view=view,
            asked_from_ms=witnessed.from_ms,
            asked_until_ms=witnessed.until_ms,
            end_ms=end_ms,
        )
