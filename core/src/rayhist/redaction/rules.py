"""What counts as a secret in a runtime environment: by a variable's name, or by what a value looks like."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from rayhist.config import Redaction
from rayhist.errors import ConfigError

PLACEHOLDER = "<redacted>"

# Whole words of a name, so that TOKENIZERS_PARALLELISM and MONKEY_PATCH stay, then parts of words.
_NAME_WORDS = (
    "key", "keys", "pass", "pat", "auth", "authorization", "bearer", "cookie", "dsn", "salt", "sas", "jwt",
    "signature",
)  # fmt: skip
_NAME_PARTS = (
    r"token(?![a-z])", "secret", "passw(?:or)?d", "passphrase", "credential", r"_pwd(?![a-z])", "webhook",
    r"(?:api|access|account|private|signing|encryption|master|license)[_-]?key", r"connection[_-]?string",
    "conn[_-]?str",
)  # fmt: skip
_VALUES = (
    r"-----BEGIN [A-Z ]*PRIVATE KEY[\s\S]*",
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    r"\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}",
    r"\bxox[abeprs]-[\w-]{10,}",
    r"\bsk-[\w-]{16,}|\bhf_[A-Za-z0-9]{20,}|\bnpm_[A-Za-z0-9]{20,}|\bdop_v1_[a-f0-9]{32,}",
    r"\bAIza[\w-]{30,}|\bya29\.[\w.-]{20,}",
    r"\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?",
    r"(?<=://)[^/\s:@]*:[^/\s@]+(?=@)|(?<=://)[^/\s:@]{16,}(?=@)",
    r"(?i)(?<=[?&])(?:sig|signature|x-\w+-(?:signature|security-token)|(?:access_)?token|api_?key)=[^&\s]+",
    r"(?i)\b(?:bearer|basic)\s+[\w+/.~=-]{8,}",
    r"(?i)\b(?:AccountKey|SharedAccess\w+|passw(?:or)?d|pwd|secret|token|api_?key)\s*[=:]\s*[^\s;,]+",
)
# A whole value that looks as if it was made by chance: long hex, or long with capitals, letters and digits.
_OPAQUE = re.compile(
    r"(?:[0-9a-f]{32,}|[0-9A-F]{32,}|(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?=[^0-9]*[0-9])[\w+=-][\w+/=.-]{23,})\Z"
)


class Rules(NamedTuple):
    """Compiled patterns.  `everything` hides the value of every variable."""

    names: re.Pattern[str]
    values: re.Pattern[str]
    keep: re.Pattern[str] | None = None
    everything: bool = False

    def why(self, name: str, value: str) -> str:
        """Why the variable's value has to go, in a few words; `""` if it may stay."""
        if value in {"", PLACEHOLDER} or (self.keep and self.keep.fullmatch(name)):
            return ""
        if self.everything:
            return "every variable"
        if self.names.search(name):
            return "by its name"
        return "by its value" if self.values.search(value) or _OPAQUE.match(value) else ""


def rules(config: Redaction) -> Rules:
    """The built-in patterns and those of the configuration.  Raises `ConfigError` for one that is none."""
    return _compiled(tuple(config.names), tuple(config.values), tuple(config.keep), config.all_variables)


@lru_cache(maxsize=8)
def _compiled(
    names: tuple[str, ...], values: tuple[str, ...], keep: tuple[str, ...], everything: bool
) -> Rules:
    words = rf"(?<![a-z0-9])(?:{'|'.join(_NAME_WORDS)})(?![a-z0-9])"
    return Rules(
        names=_any((words, *_NAME_PARTS, *names), "names", re.IGNORECASE),
        values=_any((*_VALUES, *values), "values"),
        keep=_any(keep, "keep", re.IGNORECASE) if keep else None,
        everything=everything,
    )


def _any(patterns: Iterable[str], field: str, flags: int = 0) -> re.Pattern[str]:
    """One pattern for all of them; each may begin with `(?i)`."""
    parts = []
    for pattern in patterns:
        inline = "(?i:" if pattern.startswith("(?i)") else "(?:"
        body = pattern.removeprefix("(?i)")
        try:
            re.compile(body)
        except re.error as error:
            raise ConfigError(
                f"[redaction] {field}: {pattern!r} is no regular expression: {error}",
                remedy="see https://docs.python.org/3/library/re.html#regular-expression-syntax",
            ) from error
        if re.compile(body).match(""):
            raise ConfigError(f"[redaction] {field}: {pattern!r} matches everything")
        parts.append(f"{inline}{body})")
    return re.compile("|".join(parts), flags)
