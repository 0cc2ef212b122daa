"""What pytest has to know of the kit: its marker, and that its assertions should explain themselves."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("rayhist_testkit.contracts")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "rayhist_slow: a contract test that moves thousands of objects or many bytes"
    )
