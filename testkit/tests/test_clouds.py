"""The last line of the backends' tests says what they showed, and nothing that they did not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_TESTS = """
import pytest
from rayhist_testkit.contracts.base import Contract

@pytest.mark.cloud("one")
class TestOne(Contract):
    @pytest.mark.identity("a key")
    def test_passes(self):
        pass

@pytest.mark.cloud("two")
class TestTwo(Contract):
    def test_no_contract_test_is_replaced_without_a_reason(self):
        pass

    @pytest.mark.identity("a role")
    @pytest.mark.parametrize("works", [True, False])
    def test_fails(self, works):
        assert works

@pytest.mark.cloud("three")
def test_is_no_contract():
    pass

@pytest.mark.cloud("four")
class TestFour(Contract):
    @pytest.fixture(autouse=True)
    def server(self):
        pytest.skip("it is not installed")

def test_of_no_cloud():
    assert False
"""


def test_only_what_passed_is_counted(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(_TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "rayhist_testkit.clouds", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == (
        "clouds: 2 backends, 4 contract tests, 1 failed, identities: one (a key), two ()"
    )
