"""What the dashboard of a dead cluster answers is what it answered alive."""

from __future__ import annotations

import pytest

from rayhist_testkit.fidelity import report
from rayhist_testkit.fidelity.questions import SECTIONS
from rayhist_testkit.fidelity.recording import Witnessed
from rayhist_testkit.fidelity.run import Run
from rayhist_testkit.fidelity.table import load

pytestmark = [pytest.mark.services, pytest.mark.timeout(900)]


def test_every_difference_has_a_reason(witnessed: Witnessed) -> None:
    """Both views of a cluster that was killed: `make fidelity` compares the other endings as well."""
    run = Run(load(), list(SECTIONS), print)
    run.replay(witnessed)
    found = "\n".join(report.lines(run.judgement, run.table, []))
    assert not run.judgement.unexplained, found
    assert run.judgement.answers == 2 * len(witnessed.live) > 2000
