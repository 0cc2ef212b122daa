"""Reading the operator's variables: what cannot be understood is said, and counts as not set."""

from __future__ import annotations

import re
from collections.abc import Mapping

# New name → names that earlier releases of KubeRay had for it.
RENAMED: dict[str, tuple[str, ...]] = {
    "STORAGE_BACKEND": ("RUNTIME_CLASS_NAME",),
    "STORAGE_BACKEND_CONFIG_PATH": ("RUNTIME_CLASS_CONFIG_PATH",),
    "STORAGE_ROOT_DIR": ("RAY_ROOT_DIR",),
    "AWS_ACCESS_KEY_ID": ("AWS_S3ID",),
    "AWS_SECRET_ACCESS_KEY": ("AWS_S3SECRET",),
    "AWS_SESSION_TOKEN": ("AWS_S3TOKEN",),
}
_TRUE = {"1", "t", "true", "yes", "on"}
_FALSE = {"0", "f", "false", "no", "off"}
_DURATION = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+\Z", re.ASCII)
_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_SHOWN = 60
_PREFIX = "RAY_COLLECTOR_"


def seconds(text: str) -> float | None:
    """A duration in Go's notation (`time.ParseDuration`), such as `1m30s`; `None` if it is none."""
    if not _DURATION.match(text):
        return 0.0 if text in {"0", "+0", "-0"} else None
    total = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
    return -total if text.startswith("-") else total


class Variables:
    """The environment, and what there is to say about it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._read: set[str] = set()
        self.warnings: list[str] = []

    def warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)

    def name_of(self, name: str) -> str:
        """The variable that holds it: itself, an old name of it, or `""`.  An empty one is not set."""
        self._read.update((name, *RENAMED.get(name, ())))
        if self._environment.get(name, "").strip():
            return name
        for old in RENAMED.get(name, ()):
            if self._environment.get(old, "").strip():
                self.warn(f"{old} is called {name} since KubeRay 1.7; it is taken all the same")
                return old
        return ""

    def text(self, name: str) -> str:
        found = self.name_of(name)
        return self._environment[found].strip() if found else ""

    def duration(self, name: str) -> float | None:
        """Seconds, more than 0."""
        text = self.text(name)
        if not text:
            return None
        found = seconds(text)
        if found is None or not 0 < found < 1e9:
            self.unusable(name, text, "a duration such as 30s or 1m30s")
            return None
        return found

    def number(self, name: str, least: int, most: int) -> int | None:
        text = self.text(name)
        if not text:
            return None
        if not re.fullmatch(r"\d{1,12}", text, re.ASCII) or not least <= int(text) <= most:
            self.unusable(name, text, f"a whole number from {least} to {most}")
            return None
        return int(text)

    def flag(self, name: str) -> bool | None:
        text = self.text(name)
        return self.as_flag(name, text) if text else None

    def as_flag(self, name: str, value: object) -> bool | None:
        """A value of the environment or of a JSON file, where it may be a boolean or a text."""
        text = str(value).strip().lower()
        if text in _TRUE | _FALSE:
            return text in _TRUE
        self.unusable(name, str(value), "true or false")
        return None

    def unusable(self, name: str, value: str, wanted: str) -> None:
        shown = value if len(value) <= _SHOWN else value[:_SHOWN] + "…"
        self.warn(f"{name}={shown!r} is not {wanted}; the default is taken")

    def without_effect(self, name: str, why: str) -> None:
        if self.text(name):
            self.warn(f"{name} has no effect here: {why}")

    def unread(self) -> None:
        """Name the variables of the collector that nothing has asked for."""
        for name in sorted(self._environment):
            if name.startswith(_PREFIX) and name not in self._read:
                self.warn(f"{name} is not known; it is left")
