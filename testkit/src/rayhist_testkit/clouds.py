"""Counts what the tests of storage backends showed, and says it in the last line.

    pytest -p rayhist_testkit.clouds -m cloud

Mark what runs against a real server with `cloud("s3")`, and what shows that an identity works with
`identity("IRSA")`.  The line is `clouds: B backends, T contract tests, F failed, identities: …`, where B is
the number of backends of which a contract test passed, T that of the contract tests that passed, and the
identities are those whose tests all passed.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Generator

import pytest

from rayhist_testkit.contracts.base import Contract


class Tally:
    """What was seen so far."""

    def __init__(self) -> None:
        self.backends: set[str] = set()
        self.contract_tests = 0
        self.failed = 0
        self.identities: dict[str, dict[str, bool]] = defaultdict(dict)

    def add(self, item: pytest.Item, *, passed: bool) -> None:
        cloud = item.get_closest_marker("cloud")
        if cloud is None:
            return
        [backend] = cloud.args
        self.failed += not passed
        if passed and issubclass(getattr(item, "cls", None) or object, Contract):
            self.contract_tests += 1
            self.backends.add(backend)
        for marker in item.iter_markers("identity"):
            [name] = marker.args
            self.identities[backend][name] = passed and self.identities[backend].get(name, True)

    def __str__(self) -> str:
        shown = [
            f"{backend} ({', '.join(sorted(name for name, works in names.items() if works))})"
            for backend, names in sorted(self.identities.items())
        ]
        return (
            f"clouds: {len(self.backends)} backends, {self.contract_tests} contract tests, "
            f"{self.failed} failed, identities: {', '.join(shown) or 'none'}"
        )


_TALLY = pytest.StashKey[Tally]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_TALLY] = Tally()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed or (report.when == "call" and report.passed):
        item.config.stash[_TALLY].add(item, passed=report.passed)
    return report


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    sys.stdout.write(f"{config.stash[_TALLY]}\n")
