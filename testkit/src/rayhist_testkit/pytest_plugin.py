"""What pytest has to know of the kit: its markers, and that its assertions should explain themselves."""

from __future__ import annotations

import pytest

_MARKERS = (
    "rayhist_slow: a contract test that moves thousands of objects or many bytes",
    "cloud(backend): runs against a real server of that storage backend",
    "identity(name): shows that a store opens with that kind of credentials",
)

pytest.register_assert_rewrite("rayhist_testkit.contracts")


def pytest_configure(config: pytest.Config) -> None:
    for marker in _MARKERS:
        config.addinivalue_line("markers", marker)
